//! Checks JSON against a schema that keeps to a few keywords of JSON Schema 2020-12.

use serde_json::Value;

/// What `value` breaks of `schema`, a line each; none if it is valid.
///
/// A keyword that this function does not know is reported too, so that no part of a
/// schema is silently left out.
#[must_use]
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let valid = |schema: &Value| {
        let mut found = Vec::new();
        check(root, schema, value, path, &mut found);
        found.is_empty()
    };
    for (keyword, rule) in schema.as_object().into_iter().flatten() {
        let holds = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" => true,
            "$ref" => {
                let target = rule.as_str().and_then(|name| root.pointer(&name[1..]));
                if let Some(target) = target {
                    check(root, target, value, path, found);
                }
                target.is_some()
            }
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(member) = value.get(name) {
                        check(root, schema, member, &format!("{path}/{name}"), found);
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{path}/{index}"), found);
                }
                true
            }
            "if" => {
                if let Some(then) = schema.get("then").filter(|_| valid(rule)) {
                    check(root, then, value, path, found);
                }
                true
            }
            "then" => schema.get("if").is_some(),
            "allOf" => {
                members(rule).for_each(|part| check(root, part, value, path, found));
                true
            }
            "oneOf" => members(rule).filter(|option| valid(option)).count() == 1,
            "type" => rule.is_string() && has_type(value, rule) || is_one_of(value, rule, has_type),
            "const" => value == rule,
            "enum" => is_one_of(value, rule, |value, allowed| value == allowed),
            "required" => {
                members(rule).all(|name| value.get(name.as_str().unwrap_or("")).is_some())
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                (value.as_object().into_iter().flatten())
                    .all(|(name, _)| known.get(name).is_some() || rule == &Value::Bool(true))
            }
            "minimum" => value.as_u64() >= rule.as_u64() || value.is_null(),
            "maximum" => value.as_u64() <= rule.as_u64(),
            "minItems" => members(value).count() as u64 >= rule.as_u64().unwrap_or(0),
            "maxItems" => members(value).count() as u64 <= rule.as_u64().unwrap_or(0),
            _ => false,
        };
        if !holds {
            found.push(format!("{path}: {value} breaks {keyword} {rule}"));
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_one_of(value: &Value, allowed: &Value, fits: fn(&Value, &Value) -> bool) -> bool {
    members(allowed).any(|allowed| fits(value, allowed))
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_has_something_it_refuses() {
        for (schema, good, bad) in [
            (json!({"type": "integer"}), json!(1), json!("1")),
            (
                json!({"type": ["integer", "null"]}),
                json!(null),
                json!(true),
            ),
            (json!({"const": "ns"}), json!("ns"), json!("us")),
            (json!({"enum": [0, 1]}), json!(1), json!(2)),
            (
                json!({"required": ["id"]}),
                json!({"id": 1}),
                json!({"di": 1}),
            ),
            (
                json!({"properties": {"id": {"type": "string"}}, "additionalProperties": false}),
                json!({"id": "a"}),
                json!({"id": "a", "more": 1}),
            ),
            (
                json!({"properties": {"id": {"const": 1}}}),
                json!({"id": 1}),
                json!({"id": 2}),
            ),
            (
                json!({"items": {"minimum": 2, "maximum": 3}}),
                json!([2, 3]),
                json!([2, 4]),
            ),
            (
                json!({"items": {"minimum": 2, "maximum": 3}}),
                json!([]),
                json!([1]),
            ),
            (json!({"minItems": 1, "maxItems": 2}), json!([1]), json!([])),
            (
                json!({"minItems": 1, "maxItems": 2}),
                json!([1, 2]),
                json!([1, 2, 3]),
            ),
            (
                json!({"oneOf": [{"const": 1}, {"type": "integer"}]}),
                json!(2),
                json!(1),
            ),
            (
                json!({"oneOf": [{"const": 1}, {"const": 2}]}),
                json!(2),
                json!(3),
            ),
            (
                json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
                json!({"a": 1, "b": 1}),
                json!({"a": 1}),
            ),
            (
                json!({"allOf": [{"type": "integer"}, {"minimum": 2}]}),
                json!(2),
                json!(1),
            ),
            (
                json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}),
                json!(1),
                json!([]),
            ),
        ] {
            assert_eq!(violations(&schema, &good), [""; 0], "{schema}");
            assert_eq!(violations(&schema, &bad).len(), 1, "{schema} takes {bad}");
        }
    }

    #[test]
    fn an_unknown_keyword_or_reference_is_reported() {
        assert_eq!(violations(&json!({"pattern": "a"}), &json!("a")).len(), 1);
        assert_eq!(
            violations(&json!({"$ref": "#/$defs/x"}), &json!(1)).len(),
            1
        );
    }
}
