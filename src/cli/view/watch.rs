//! Changes below a folder, as the kernel reports them. Linux alone has a watch; elsewhere the folder is walked again.

#[cfg(target_os = "linux")]
pub use linux::Watch;

#[cfg(not(target_os = "linux"))]
pub use other::Watch;

/// What changed since the last call.
#[derive(Debug, Default)]
pub struct Changes {
    /// Folders with a file or folder that is new, changed or gone.
    pub folders: Vec<std::path::PathBuf>,
    /// The kernel reported more than it could keep: everything may have changed.
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

    /// File systems whose changes all come from this machine (see statfs(2)). Of others the kernel does not see what another machine writes.
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

    /// A watch of folders.
    pub struct Watch {
        queue: OwnedFd,
        folders: HashMap<i32, PathBuf>,
        /// Whether the file systems of these devices are local.
        devices: HashMap<u64, bool>,
    }

    impl Watch {
        /// A watch of no folder yet.
        ///
        /// # Errors
        ///
        /// Why folders cannot be watched.
        pub fn new() -> Result<Watch, String> {
            let queue =
                inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|error| error.to_string())?;
            Ok(Watch { queue, folders: HashMap::new(), devices: HashMap::new() })
        }

        /// Watches a folder, but not those in it. A folder that is gone is not watched.
        ///
        /// # Errors
        ///
        /// Why this folder cannot be watched.
        pub fn add(&mut self, folder: &Path) -> Result<(), String> {
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
                // The folder is gone, or cannot be read either.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::NAMETOOLONG) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }

        /// What changed since the last call.
        pub fn changes(&mut self) -> Changes {
            let mut buffer = [MaybeUninit::uninit(); 16 << 10];
            let mut reader = Reader::new(&self.queue, &mut buffer);
            let (mut folders, mut is_incomplete) = (BTreeSet::new(), false);
            // Ends with the error that there is nothing more.
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

    /// Never made.
    pub enum Watch {}

    impl Watch {
        /// Fails: there is no watch on this system.
        pub fn new() -> Result<Watch, String> {
            Err("this system has no watch that crossprof uses".to_owned())
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
