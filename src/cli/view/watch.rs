//! Reports changes below a folder, using notifications from the operating system. Watching is supported only on Linux.
//! On other systems, the folder is walked periodically instead.

#[cfg(target_os = "linux")]
pub(super) use linux::Watch;

#[cfg(not(target_os = "linux"))]
pub use other::Watch;

/// Changes since the last call.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Folders that contain new, changed or removed files or folders.
    pub folders: Vec<std::path::PathBuf>,
    /// True if the kernel's queue overflowed, so that any folder may have changed.
    pub is_incomplete: bool,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeSet, HashMap};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::Changes;

    /// Types of file systems that only this machine can change (see statfs(2)). On other file systems, the kernel does
    /// not see changes that other machines make.
    const LOCAL: [i128; 10] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683E, // Btrfs
        0x0102_1994, // tmpfs
        0x794C_7630, // overlayfs
        0x2FC1_2FC1, // ZFS
        0xF2F5_2010, // F2FS
        0xCA45_1A4E, // bcachefs
        0x8584_58F6, // ramfs
        0xF15F,      // eCryptfs
    ];

    /// Watches folders.
    pub(crate) struct Watch {
        queue: OwnedFd,
        folders: HashMap<i32, PathBuf>,
        /// For each device, true if its file system is local.
        devices: HashMap<u64, bool>,
    }

    impl Watch {
        /// Creates a watch that does not watch any folder yet.
        ///
        /// # Errors
        ///
        /// Fails with the reason why folders cannot be watched.
        pub(crate) fn new() -> Result<Watch, String> {
            let queue =
                inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|error| error.to_string())?;
            Ok(Watch { queue, folders: HashMap::new(), devices: HashMap::new() })
        }

        /// Watches a folder, but not its subfolders. Ignores folders that are gone.
        ///
        /// # Errors
        ///
        /// Fails with the reason why this folder cannot be watched.
        pub(crate) fn add(&mut self, folder: &Path) -> Result<(), String> {
            let Ok(metadata) = std::fs::symlink_metadata(folder) else { return Ok(()) };
            let is_local = *self.devices.entry(metadata.dev()).or_insert_with(|| {
                rustix::fs::statfs(folder).is_ok_and(|system| LOCAL.contains(&i128::from(system.f_type)))
            });
            if !is_local {
                return Err("its file system is not on this machine".to_owned());
            }
            let wanted = WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MODIFY
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::EXCL_UNLINK
                | WatchFlags::ONLYDIR;
            match inotify::add_watch(&self.queue, folder, wanted) {
                Ok(number) => {
                    self.folders.insert(number, folder.to_owned());
                    Ok(())
                }
                Err(Errno::NOSPC) => Err("it has more folders than fs.inotify.max_user_watches".to_owned()),
                // The folder is gone, or is not readable.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::NAMETOOLONG) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }

        /// Returns the changes since the last call.
        pub(crate) fn changes(&mut self) -> Changes {
            let mut buffer = [MaybeUninit::uninit(); 16 << 10];
            let mut reader = Reader::new(&self.queue, &mut buffer);
            let (mut folders, mut is_incomplete) = (BTreeSet::new(), false);
            // The loop ends with an error once there are no more events.
            while let Ok(event) = reader.next() {
                is_incomplete |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                if event.events().contains(ReadFlags::IGNORED) {
                    self.folders.remove(&event.wd());
                } else if let Some(folder) = self.folders.get(&event.wd()) {
                    folders.insert(folder.clone());
                }
            }
            Changes { folders: folders.into_iter().collect(), is_incomplete }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::path::Path;

    use super::Changes;

    /// A type without values, because folders cannot be watched on this system.
    pub enum Watch {}

    impl Watch {
        /// Always fails, because folders cannot be watched on this system.
        pub fn new() -> Result<Watch, String> {
            Err("this system has no file watching that crossprof supports".to_owned())
        }

        /// Never called.
        pub fn add(&mut self, _: &Path) -> Result<(), String> {
            match *self {}
        }

        /// Never called.
        pub fn changes(&mut self) -> Changes {
            match *self {}
        }
    }
}
