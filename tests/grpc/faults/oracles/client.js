// Keeps a grpc-js channel in want of a connection. Arguments: PORT [OPTION=NUMBER ...]
// Its random numbers are small ones, which are as likely as any, so that every run is alike.
Math.random = () => 0.01;
const grpc = require("@grpc/grpc-js");

const [port, ...options] = process.argv.slice(2);
const numbers = options.map((option) => option.split("=")).map(([name, number]) => [name, +number]);
const channel = new grpc.Channel(
    `127.0.0.1:${port}`,
    grpc.credentials.createInsecure(),
    Object.fromEntries(numbers),
);
const connect = () => channel.watchConnectivityState(channel.getConnectivityState(true), Infinity, connect);
connect();
setInterval(() => {}, 1000); // while it does not listen to anything, the process stays
