//! Disks and filesystems.

use crate::Class::Disk;
use crate::{Rule, Test, on};

const LOST: &str = "what is on the device is lost";
const ASK: &str = "ask the user to do it; `lsblk -f` and `blkid` show the state";

pub(super) const RULES: &[Rule] = &[
    Rule::new("disk.format", Disk, "making a filesystem or swap space")
        .because(LOST, ASK)
        .on(&[on(&["mkfs", "mke2fs", "mkswap", "newfs", "mkdosfs", "mkntfs", "mkexfatfs", "mkudffs", "format"]), on(&["mkfs.*", "newfs_*"]), on(&["diskutil"]).unless(&[Test::First(&["list", "info", "activity"])])])
        .denies(&["mkfs.ext4 /dev/sdb", "mkfs -t xfs /dev/sdb1", "mkswap /dev/sdb2"])
        .passes(&["mkfs.ext4 -V", "grep mkfs install.sh"]),
    Rule::new("disk.partition", Disk, "changing partitions")
        .because(LOST, ASK)
        .on(&[
            on(&["fdisk", "sfdisk"]).unless(&[Test::Flag(&["-l", "--list", "-d", "--dump", "-J", "--json", "-s", "-V", "--verify", "-x"])]),
            on(&["gdisk", "cgdisk", "cfdisk", "fixparts"]).unless(&[Test::Flag(&["-l"])]),
            on(&["sgdisk"]).unless(&[Test::Flag(&["-p", "--print", "-i", "--info", "-v", "--verify"])]),
            on(&["parted"]).unless(&[Test::Flag(&["-l", "--list"]), Test::Operand(&["print", "p", "unit"])]),
            on(&["parted"]).when(&[Test::Operand(&["mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "set", "toggle", "disk_set", "name"])]),
            on(&["partprobe", "kpartx", "growpart"]),
            on(&["partx"]).when(&[Test::Flag(&["-a", "-d", "-u", "--add", "--delete", "--update"])]),
        ])
        .denies(&["fdisk /dev/sda", "sgdisk --zap-all /dev/sda", "parted /dev/sda mklabel gpt", "sfdisk /dev/sda < layout"])
        .passes(&["fdisk -l", "parted -l", "sgdisk -p /dev/sda", "parted /dev/sda print", "sfdisk -d /dev/sda"]),
    Rule::new("disk.erase", Disk, "erasing a disk or changing its firmware settings")
        .because(LOST, ASK)
        .on(&[
            on(&["wipefs"]).when(&[Test::Flag(&["-a", "--all", "-o", "--offset", "-f", "--force"])]).unless(&[Test::Flag(&["-n", "--no-act"])]),
            on(&["blkdiscard", "blkzone", "nwipe", "dban", "sg_format", "sg_sanitize", "sg_unmap", "sg_write_same", "sg_write_buffer"]),
            on(&["nvme"]).sub(&[&["format", "sanitize", "delete-ns", "create-ns", "attach-ns", "detach-ns", "reset", "subsystem-reset", "ns-rescan", "fw-download", "fw-commit", "fw-activate", "write", "write-zeroes", "write-uncor", "dsm", "set-feature", "security-send", "admin-passthru", "io-passthru", "disconnect", "disconnect-all", "connect", "connect-all", "copy", "resv-register", "resv-acquire", "resv-release", "zns"]]),
            on(&["hdparm"]).when(&[Test::Word(&["--security-*", "--trim-sector*", "--write-sector", "--repair-sector", "--make-bad-sector", "--yes-i-know-what-i-am-doing", "--please-destroy-my-drive", "--fwdownload*", "--dco-*", "--user-master", "-N*", "-W*", "-Y", "-y", "-B*", "-S*", "-M*", "-Z", "-w", "-r*", "--set-sector-size"])]),
            on(&["smartctl"]).when(&[Test::Flag(&["-s", "--set", "-t", "--test", "-X", "--abort", "-o", "--offlineauto", "-S", "--saveauto"])]),
            on(&["sdparm"]).when(&[Test::Flag(&["--set", "-s", "--clear", "-c", "--command", "-C", "--defaults", "-D"])]),
            on(&["storcli", "storcli64", "perccli", "megacli", "MegaCli64", "ssacli", "hpssacli", "arcconf", "sas3ircu", "sas2ircu", "tw_cli", "mvcli"]).unless(&[Test::Operand(&["show", "list", "display", "getconfig", "-AdpAllInfo", "-LDInfo", "-PDList", "status"])]),
            on(&["storcli", "storcli64", "perccli", "ssacli"]).when(&[Test::Operand(&["delete", "del", "add", "set", "start", "stop", "erase", "format", "download", "create", "modify"])]),
        ])
        .denies(&["wipefs -a /dev/sdb", "nvme format /dev/nvme0n1", "blkdiscard /dev/sdb", "hdparm --security-erase p /dev/sda"])
        .passes(&["wipefs /dev/sdb", "nvme list", "nvme smart-log /dev/nvme0", "smartctl -a /dev/sda", "hdparm -I /dev/sda"]),
    Rule::new("disk.encryption", Disk, "changing disk encryption")
        .because("without its key the data is lost", ASK)
        .on(&[
            on(&["cryptsetup"]).unless(&[Test::First(&["status", "luksDump", "isLuks", "luksUUID", "benchmark"])]),
            on(&["veracrypt", "bitlocker", "clevis", "cryptsetup-reencrypt", "fscrypt", "e4crypt", "integritysetup", "veritysetup"]).when(&[Test::Operands(1)]),
        ])
        .denies(&["cryptsetup luksFormat /dev/sdb", "cryptsetup close x"])
        .passes(&["cryptsetup status x", "cryptsetup luksDump /dev/sdb"]),
    Rule::new("disk.volume", Disk, "changing volumes, pools or arrays")
        .because("a removed volume takes its data along", ASK)
        .on(&[
            on(&["lvremove", "lvreduce", "lvresize", "lvcreate", "lvextend", "lvconvert", "lvchange", "lvrename", "vgremove", "vgreduce", "vgcreate", "vgextend", "vgrename", "vgchange", "vgsplit", "vgmerge", "vgexport", "vgimport", "vgcfgrestore", "pvremove", "pvcreate", "pvmove", "pvresize", "pvchange"]),
            on(&["lvm"]).when(&[Test::First(&["lvremove", "lvreduce", "lvresize", "lvcreate", "lvextend", "lvconvert", "lvchange", "vgremove", "vgreduce", "vgcreate", "vgextend", "vgchange", "pvremove", "pvcreate", "pvmove"])]),
            on(&["mdadm"]).when(&[Test::Flag(&["-S", "--stop", "--zero-superblock", "-r", "--remove", "-f", "--fail", "--set-faulty", "-C", "--create", "-G", "--grow", "-A", "--assemble", "-a", "--add", "--re-add", "--replace", "-w", "--readwrite", "-o", "--readonly", "-R", "--run"])]),
            on(&["zpool"]).sub(&[&["destroy", "create", "remove", "offline", "online", "detach", "attach", "add", "replace", "labelclear", "export", "import", "clear", "split", "upgrade", "reguid", "set", "initialize", "trim", "scrub", "checkpoint", "reopen"]]),
            on(&["zfs"]).sub(&[&["destroy", "rollback", "rename", "create", "set", "inherit", "unmount", "umount", "mount", "receive", "recv", "promote", "clone", "upgrade", "unload-key", "load-key", "change-key", "unshare", "share", "allow", "unallow", "release", "hold", "snapshot"]]),
            on(&["btrfs"]).sub(&[&["subvolume", "sub", "device", "dev", "filesystem", "fi", "quota", "qgroup", "property", "scrub", "balance", "replace", "rescue"], &["delete", "create", "snapshot", "set-default", "remove", "add", "resize", "defragment", "label", "balance", "enable", "disable", "destroy", "assign", "set", "start", "cancel", "pause", "zero-log", "super-recover", "chunk-recover", "limit"]]),
            on(&["btrfs"]).sub(&[&["check"]]).when(&[Test::Flag(&["--repair", "--init-csum-tree", "--init-extent-tree"])]),
            on(&["dmsetup"]).sub(&[&["remove", "remove_all", "create", "suspend", "resume", "load", "reload", "clear", "wipe_table", "rename", "message", "mknodes"]]),
            on(&["multipath"]).when(&[Test::Flag(&["-F", "-f", "-r", "-w", "-W", "-a"])]),
            on(&["losetup"]).when(&[Test::Flag(&["-d", "--detach", "-D", "--detach-all", "-f", "--find", "-c", "-P"])]),
            on(&["iscsiadm"]).when(&[Test::Flag(&["-u", "--logout", "-l", "--login"])]),
            on(&["iscsiadm"]).when(&[Test::Operand(&["delete", "new", "update"])]),
            on(&["stratis", "vdo", "bcachefs", "drbdadm", "gluster", "ceph", "rbd", "rados"]).when(&[Test::Operand(&["destroy", "remove", "rm", "create", "delete", "down", "primary", "secondary", "detach", "attach", "resize", "stop", "purge", "zap", "out", "reset", "format", "add", "set", "unmap", "map", "trash"])]),
            on(&["targetcli"]).when(&[Test::Operand(&["clearconfig", "delete", "create", "restoreconfig", "set"])]),
            on(&["make-bcache", "bcache-super-reset"]),
            on(&["hdiutil"]).sub(&[&["detach", "eject", "erasekeys", "resize", "compact", "create"]]),
            on(&["xfs_quota"]).when(&[Test::Flag(&["-x"]), Test::Contains(&["limit", "disable", "enable", "off", "remove", "restore", "project"])]),
        ])
        .denies(&["lvremove -f vg0/models", "zpool destroy tank", "zfs rollback tank/x@a", "btrfs subvolume delete /data/x", "mdadm --stop /dev/md0"])
        .passes(&["lvs", "zpool status", "zfs list", "btrfs filesystem usage /", "mdadm --detail /dev/md0", "dmsetup info /dev/dm-0", "losetup -a"]),
    Rule::new("disk.mount", Disk, "mounting, unmounting or swapping")
        .because("programs lose the files they use", ASK)
        .on(&[
            on(&["umount", "umount.nfs", "swapoff", "fusermount", "fusermount3", "udisksctl", "eject", "sshfs", "mount.nfs", "guestmount", "guestunmount", "zramctl"]).when(&[Test::Operands(1)]),
            on(&["umount", "swapoff"]).when(&[Test::Flag(&["-a", "--all"])]),
            on(&["mount"]).when(&[Test::Operands(1)]).unless(&[Test::Flag(&["-l", "--show-labels"])]),
            on(&["mount"]).when(&[Test::Flag(&["-a", "--all", "-o", "--options", "--bind", "--move", "--make-private", "--make-rprivate", "--make-shared"])]),
            on(&["swapon"]).when(&[Test::Operands(1)]),
            on(&["swapon"]).when(&[Test::Flag(&["-a", "--all"])]),
            on(&["exportfs"]).when(&[Test::Flag(&["-u", "-r", "-a", "-f", "-o", "-i"])]),
            on(&["findmnt"]).when(&[Test::Flag(&["--never"])]),
        ])
        .denies(&["umount -l /mnt/models", "swapoff -a", "mount -o remount,rw /", "mount /dev/sdb1 /mnt"])
        .passes(&["mount", "mount -l", "swapon --show", "findmnt /"]),
    Rule::new("disk.repair", Disk, "repairing, resizing or tuning a filesystem")
        .because("on a mounted or failing disk it destroys data", ASK)
        .on(&[
            on(&["fsck", "e2fsck", "dosfsck", "ntfsfix"]).unless(&[Test::Flag(&["-n", "-N"])]),
            on(&["fsck.*"]).unless(&[Test::Flag(&["-n", "-N"])]),
            on(&["xfs_repair"]).unless(&[Test::Flag(&["-n"])]),
            on(&["resize2fs", "xfs_growfs", "xfs_admin", "xfs_copy", "xfs_mdrestore", "e2label", "fatlabel", "ntfslabel", "ntfsresize", "swaplabel", "e4defrag", "xfs_fsr", "fstrim", "e2image", "zerofree", "testdisk", "photorec", "ddrescue", "dcfldd", "dc3dd", "partclone", "partimage", "clonezilla", "fsfreeze", "quotaoff", "quotaon", "setquota", "edquota"]),
            on(&["tune2fs", "tunefs"]).unless(&[Test::Flag(&["-l"])]),
            on(&["debugfs"]).when(&[Test::Flag(&["-w", "-f"])]),
            on(&["badblocks"]).when(&[Test::Flag(&["-w", "-n"])]),
            on(&["xfs_db"]).when(&[Test::Flag(&["-x"])]),
            on(&["xfs_io"]).when(&[Test::Contains(&["pwrite", "truncate", "fpunch", "shutdown", "fzero"])]),
        ])
        .denies(&["fsck -y /dev/sda1", "resize2fs /dev/sda1", "tune2fs -O ^has_journal /dev/sda1", "badblocks -w /dev/sdb"])
        .passes(&["fsck -n /dev/sda1", "tune2fs -l /dev/sda1", "debugfs -R stat /dev/sda1"]),
];
