//! What happens in a folder, as the system tells it.

#[cfg(target_os = "linux")]
pub(crate) use linux::Changes;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Changes;

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    use tokio::{fs::File, io::AsyncReadExt};

    pub(crate) struct Changes(File);

    impl Changes {
        /// Changes of a folder and its files from now on.
        pub(crate) fn of(folder: &Path) -> Self {
            let told = init(CreateFlags::CLOEXEC).expect("inotify");
            let kinds = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
            add_watch(&told, folder, kinds).expect("a folder");
            Self(File::from_std(told.into()))
        }

        /// Waits for some; what they are, the folder itself says.
        pub(crate) async fn some(&mut self) {
            let told = self.0.read(&mut [0; 4096]).await;
            told.expect("the folder is there");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::{path::Path, time::Duration};

    /// Here nobody is asked, but the folder looked at every 2 ms.
    pub(crate) struct Changes;

    impl Changes {
        pub(crate) fn of(_: &Path) -> Self {
            Self
        }

        pub(crate) async fn some(&mut self) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
