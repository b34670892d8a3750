//! GPUs, other hardware, firmware, clocks and the kernel.

use crate::Class::{Gpu, Hardware, Kernel};
use crate::{Rule, Test, on};

const ASK: &str = "read the state instead; ask the user to change it";

pub(super) const RULES: &[Rule] = &[
    Rule::new("gpu.state", Gpu, "changing the state of a GPU")
        .because("running jobs crash or slow down", "query it with `nvidia-smi -q` or `--query-gpu`; ask the user to change it")
        .on(&[
            on(&["nvidia-smi"]).when(&[Test::Word(&[
                "-r", "--gpu-reset*", "-lgc*", "--lock-gpu-clocks*", "-rgc*", "--reset-gpu-clocks*", "-lmc*", "--lock-memory-clocks*", "-rmc*", "--reset-memory-clocks*",
                "-lmcd*", "-rmcd*", "-ac*", "--applications-clocks*", "-rac*", "--reset-applications-clocks*", "-acp*", "--applications-clocks-permission*", "-pl*", "--power-limit*", "-pm*", "--persistence-mode*",
                "-mig*", "--multi-instance-gpu*", "--compute-mode*", "--ecc-config*", "--reset-ecc-errors*", "-dm*", "--driver-model*", "-fdm*", "--force-driver-model*",
                "-am*", "--accounting-mode*", "-caa*", "--clear-accounted-apps*", "-gtt*", "--gpu-target-temp*", "-vm*", "--virt-mode*", "--auto-boost*", "--gom*", "--cuda-clocks*", "-sc*",
            ])]),
            on(&["nvidia-smi"]).when(&[Test::Word(&["-c", "-e", "-p"])]).unless(&[Test::First(&["dmon", "pmon", "topo", "nvlink", "daemon", "replay", "vgpu", "mig", "clocks", "stats", "boost-slider"])]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["mig"]), Test::Word(&["-cgi*", "-dgi*", "-cci*", "-dci*", "--create-*", "--destroy-*", "-C"])]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["drain", "boost-slider", "power-smoothing", "power-profiles", "conf-compute", "prm", "compute-policy"]), Test::Word(&["-m*", "-p", "-r", "--modify*", "-vboost*", "--vboost*", "--set*", "-s*", "-srs*", "-f", "-e*", "-d*", "-a*"])]).unless(&[Test::Word(&["-q", "--query*", "-l", "--list", "-h", "-g*"])]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["nvlink"]), Test::Word(&["-r*", "-R*", "-sc*", "--setcontrol*", "--reset*", "-sLowPwr*", "--set*"])]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["clocks"]), Test::Word(&["--set*", "-s*", "--sync*"])]),
            on(&["nvidia-settings"]).when(&[Test::Flag(&["-a", "--assign", "-l", "--load-config-only", "-r", "--rewrite-config-file"])]),
            on(&["nvidia-cuda-mps-control", "nvidia-persistenced", "nvidia-xconfig", "nvidia-modprobe", "nvidia-sleep.sh", "nv-fabricmanager", "nvidia-bug-report-reset", "nvflash", "nvfancontrol"]),
            on(&["dcgmi"]).sub(&[&["config", "policy", "group", "profile", "diag", "health", "nvlink"]]).when(&[Test::Word(&["--set*", "-s", "--enforce", "--pause", "--resume", "-d", "--delete*", "-r", "--reg*", "--clear"])]),
            on(&["rocm-smi"]).when(&[Test::Word(&["--set*", "--reset*", "-r", "--load", "--gpureset", "--autorespond", "--rasenable", "--rasdisable", "--rasinject"])]),
            on(&["amd-smi"]).sub(&[&["set", "reset"]]),
            on(&["xpu-smi"]).sub(&[&["config", "updatefw", "diag"]]).when(&[Test::Operands(1)]),
            on(&["xpu-smi"]).when(&[Test::Word(&["--reset", "--powerlimit*", "--frequencyrange*", "--eccstate*"])]),
            on(&["hl-smi", "npu-smi", "ixsmi", "mthreads-gmi"]).when(&[Test::Word(&["-r", "--reset*", "set", "-t"])]),
            on(&["nvpmodel"]).when(&[Test::Flag(&["-m", "--mode", "-d", "--default", "-f"])]),
            on(&["jetson_clocks"]).unless(&[Test::Flag(&["--show"])]),
            on(&["jtop"]).when(&[Test::Flag(&["--restore", "--fan"])]),
            on(&["nvidia-ctk"]).sub(&[&["runtime", "config", "system"]]).when(&[Test::Operands(1)]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["vgpu"]), Test::Word(&["-sv*", "--set-*", "-caa", "--enable*", "--disable*", "-p*"])]).unless(&[Test::Flag(&["-q", "--query"])]),
            on(&["nvidia-smi"]).when(&[Test::Operand(&["boost-slider"]), Test::Operands(2)]),
            on(&["intel_gpu_frequency"]).when(&[Test::Flag(&["-s", "--set", "-c", "--custom", "-e", "-i", "-m", "-d"])]),
        ])
        .denies(&["nvidia-smi -r", "nvidia-smi -i 0 -ac 5001,1590", "nvidia-smi -pl 200", "nvidia-smi -mig 1", "nvidia-smi mig -dci -i 0", "sudo nvpmodel -m 0", "jetson_clocks", "nvidia-smi -c 3", "rocm-smi --setfan 255"])
        .passes(&["nvidia-smi", "nvidia-smi -q -d CLOCK", "nvidia-smi --query-gpu=name --format=csv", "nvidia-smi pmon -c 1", "nvidia-smi dmon -s pucvmet", "nvidia-smi nvlink -s", "nvidia-smi mig -lgi", "nvpmodel -q", "jetson_clocks --show", "rocm-smi --showtemp", "nvidia-smi -L", "nvidia-smi topo -m", "nvidia-smi -i 0 -q"]),
    Rule::new("hardware.network-card", Hardware, "changing a network card")
        .because("the link goes down, and with it everyone who uses it", ASK)
        .on(&[
            on(&["ethtool"]).when(&[Test::Word(&["-s", "-G", "-C", "-K", "-A", "-L", "-X", "-E", "-p", "-r", "-f", "-W", "-N", "-U", "-Q", "-t", "--change", "--set-*", "--reset", "--flash", "--negotiate", "--test", "--offload", "--features", "--coalesce", "--pause", "--rxfh", "--change-eeprom", "--identify", "--config-*", "--per-queue", "--cable-test*", "--mm-set", "--set-fec"])]),
            on(&["mlxconfig", "mstconfig"]).unless(&[Test::Operand(&["query", "q", "show_confs", "i", "show_system_conf", "version", "v"])]),
            on(&["mlxconfig", "mstconfig"]).when(&[Test::Operand(&["set", "s", "reset", "r", "set_raw", "clear_semaphore", "apply"])]),
            on(&["mlxlink", "mstlink"]).when(&[Test::Word(&["-a*", "--port_state*", "-s", "--speeds", "--link_mode_force", "-k", "--fec", "-l", "--loopback", "-T", "--test_mode", "--serdes_tx*", "-t", "--tx_*"])]),
            on(&["mlxfwmanager", "mlxfwup", "mstfwmanager"]).unless(&[Test::Flag(&["--query", "-l", "--list"])]),
            on(&["mlxfwreset", "mstfwreset"]).unless(&[Test::Operand(&["query", "q"])]),
            on(&["flint", "mstflint"]).unless(&[Test::Operand(&["query", "q", "verify", "v", "hw", "dc", "checksum"])]),
            on(&["mst"]).sub(&[&["start", "stop", "restart", "server", "load", "unload", "save", "rm", "add"]]),
            on(&["mlnx_qos", "mlnx_tune", "cma_roce_mode", "cma_roce_tos", "mlxreg", "mlxvpd", "mstreg", "mcra", "mlxburn", "mlxprivhost", "mlxtrace", "bfb-install", "rshim", "show_counters-reset"]).when(&[Test::Word(&["-p*", "-f*", "--set*", "-w*", "--trust*", "--pfc*", "-r", "-s", "set", "restrict", "privilege", "-d*", "-b*"])]),
            on(&["ibportstate"]).when(&[Test::Operand(&["disable", "enable", "reset", "speed", "width", "down", "arm", "active", "off", "on", "vls", "mtu"])]),
            on(&["opensm", "ibdiagnet", "perfquery", "smpquery"]).when(&[Test::Flag(&["-R", "--clear_ca_nodes", "-pc", "--reset_pm", "-B", "--daemon"])]),
            on(&["opensm"]),
            on(&["rdma"]).sub(&[&["link", "dev", "system", "resource", "statistic"], &["delete", "add", "set", "del", "bind", "unbind", "mode"]]),
            on(&["devlink", "dcb"]).sub(&[&["*"], &["set", "reload", "add", "del", "flash", "reset", "function", "param", "eswitch", "trap", "selftests"]]).unless(&[Test::Operand(&["show", "get", "list"])]),
            on(&["lldptool"]).when(&[Test::Word(&["-T", "set-tlv", "set-lldp", "-L"])]),
            on(&["mcra", "mstmcra"]).when(&[Test::Operands(3)]),
            on(&["ibdiagnet", "ibdiagnet2"]).when(&[Test::Flag(&["--pc", "-pc", "--reset_phy_info"])]),
            on(&["devlink"]).sub(&[&["port", "health", "resource", "sb", "rate", "linecard"], &["split", "unsplit", "recover", "test", "set", "add", "del"]]),
            on(&["hciconfig"]).when(&[Test::Operand(&["up", "down", "reset", "piscan", "noscan", "name", "class"])]),
        ])
        .denies(&["ethtool -s eth0 speed 100", "ethtool -G eth0 rx 8192", "mlxconfig -d x set LINK_TYPE_P1=2", "mst restart", "mlxlink -d mlx5_0 -a DN", "rdma link delete rxe0"])
        .passes(&["ethtool eth0", "ethtool -S eth0", "ethtool -i eth0", "mlxconfig -d x query", "mlxlink -d mlx5_0", "mst status", "rdma link show", "ibstat"]),
    Rule::new("hardware.firmware", Hardware, "writing firmware, boot entries or management controllers")
        .because("a device that does not start any more cannot be repaired from here", ASK)
        .on(&[
            on(&["fwupdmgr", "fwupdtool"]).sub(&[&["install", "install-blob", "update", "upgrade", "reinstall", "downgrade", "activate", "switch-branch", "unlock", "set-approved-firmware", "set-bios-setting", "set-bios-settings", "modify-config", "modify-remote", "enable-remote", "disable-remote", "clear-history", "clear-results", "emulation-load"]]),
            on(&["flashrom", "afuefi", "afulnx", "afulnx_64", "amidelnx", "sceelnx", "dfu-util", "dfu-programmer", "avrdude", "openocd", "nvflash", "uuu", "rkdeveloptool", "upgrade_tool", "h2offt", "fptw64", "me_cleaner", "insyde"]).unless(&[Test::Flag(&["-r", "--read", "-l", "--list", "-v", "--get-size"])]),
            on(&["flashrom"]).when(&[Test::Flag(&["-w", "--write", "-E", "--erase"])]),
            on(&["esptool", "esptool.py", "espefuse.py", "espflash", "picotool", "st-flash", "stm32flash", "bossac", "teensy_loader_cli", "nrfjprog", "pyocd", "probe-rs", "JLinkExe", "tegraflash.py", "tegrarcm_v2", "l4t_initrd_flash.sh", "flash.sh", "sdkmanager", "jetson-io.py", "nv_update_engine", "nvbootctrl", "tegra-eeprom"]).unless(&[Test::First(&["info", "chip_id", "flash_id", "read_mac", "list", "--list", "dump-slots-info"])]),
            on(&["fastboot"]).unless(&[Test::First(&["devices", "getvar", "help"])]),
            on(&["adb"]).sub(&[&["reboot", "root", "unroot", "remount", "sideload", "uninstall", "install", "push", "disable-verity", "enable-verity", "restore", "kill-server"]]),
            on(&["efibootmgr"]).when(&[Test::Word(&["-o", "-n", "-b", "-B", "-c", "-C", "-A", "-a", "-t", "-N", "-O", "-D", "-T", "-d", "-l", "-L", "-p", "-m", "-M", "-y", "-r", "-x", "-w", "--boot*", "--create*", "--delete*", "--active", "--inactive", "--timeout*", "--next*", "--remove*", "--order*", "--mirror*", "--reconnect", "--sysprep"])]),
            on(&["bootctl"]).sub(&[&["install", "update", "remove", "set-default", "set-oneshot", "set-timeout", "set-timeout-oneshot", "random-seed", "reboot-to-firmware", "unlink", "cleanup", "set-preferred"]]),
            on(&["grub-install", "grub2-install", "update-grub", "update-grub2", "grub-mkconfig", "grub2-mkconfig", "grub-reboot", "grub2-reboot", "grub-set-default", "grub2-set-default", "grub-editenv", "grub2-editenv", "lilo", "extlinux", "syslinux", "refind-install", "sbctl", "sbsign", "sbkeysync", "efi-updatevar", "fw_setenv", "nvram", "bless", "raspi-config", "rpi-eeprom-update", "rpi-update", "kernelstub", "zipl"]),
            on(&["grubby"]).unless(&[Test::Flag(&["--info", "--default-kernel", "--default-index", "--default-title"])]),
            on(&["mokutil"]).unless(&[Test::Flag(&["-l", "--list-enrolled", "--list-new", "--sb-state", "--test-key", "--pk", "--kek", "--db", "--dbx"])]),
            on(&["tpm2_clear", "tpm2_changeauth", "tpm2_evictcontrol", "tpm2_nvundefine", "tpm2_nvwrite", "tpm2_dictionarylockout", "tpm2_hierarchycontrol", "tpm_clear", "tpm_takeownership"]),
            on(&["ipmitool"]).sub(&[&["mc", "bmc", "sel", "lan", "user", "raw", "fru", "hpm", "sol", "session", "event", "channel", "sensor", "firewall", "pef", "dcmi", "fwum", "ekanalyzer", "delloem", "sunoem", "kontronoem", "exec", "shell", "tsol", "i2c", "spd"]]).when(&[Test::Operand(&["reset", "clear", "set", "write", "upgrade", "activate", "deactivate", "enable", "disable", "delete", "thresh", "edit", "add", "setaccess", "priv", "rawcmd", "save", "power", "raw", "0x*", "[0-9]*"])]),
            on(&["ipmitool"]).sub(&[&["raw", "exec", "shell", "sol", "tsol", "i2c"]]),
            on(&["ipmi-chassis", "ipmi-raw", "ipmi-config", "ipmi-oem", "ipmipower", "bmc-device", "bmc-config", "ipmi-sel"]).when(&[Test::Flag(&["--chassis-control", "--commit", "--off", "--on", "--cycle", "--reset", "--clear", "--cold-reset", "--warm-reset", "--soft", "-c", "-f"])]),
            on(&["racadm"]).unless(&[Test::First(&["get", "getsysinfo", "getsel", "getversion", "getniccfg", "getconfig", "getled", "getraclog", "getssninfo", "getsvctag", "hwinventory", "swinventory", "help"])]),
            on(&["hponcfg", "ilorest", "redfishtool", "sum", "onecli", "lenovo_onecli", "ucs"]).when(&[Test::Word(&["-f", "-r", "set", "reboot", "reset", "patch", "Systems", "update*", "-c", "flash*", "commit", "delete", "serverinfo-reset", "Managers"])]),
            on(&["setpci"]).when(&[Test::Operand(&["*=*"])]),
            on(&["wrmsr", "i2cset", "i2ctransfer", "devmem", "devmem2", "memtool", "isadump-set", "gpioset", "pinctrl", "raspi-gpio", "spi-config", "usbreset", "uhubctl", "usb_modeswitch", "outb", "inb-out", "cpuid-set", "iopl"]),
            on(&["rfkill"]).sub(&[&["block", "unblock", "toggle"]]),
            on(&["bluetoothctl"]).when(&[Test::Operand(&["power", "remove", "pair", "trust", "untrust", "block", "disconnect", "connect"])]),
            on(&["flashcp", "flash_erase", "flash_eraseall", "nandwrite", "nandtest", "ubiformat", "ubirmvol", "ubimkvol", "ubiupdatevol", "ubidetach", "mtdpart", "heimdall", "lsiutil", "sas2flash", "sas3flash"]),
            on(&["mtd_debug"]).sub(&[&["erase", "write"]]),
            on(&["pigs"]).when(&[Test::Operands(2)]),
            on(&["gpio"]).when(&[Test::Operand(&["write", "mode", "toggle", "pwm", "export", "unexportall"])]),
            on(&["nvme"]).sub(&[&["set-property", "fdp", "lockdown", "capacity-mgmt", "directive-send", "sanitize-ns"]]),
            on(&["xrandr"]).when(&[Test::Flag(&["--output", "--off", "--setprovideroutputsource", "-s"])]),
            on(&["brightnessctl", "light", "xbacklight", "ddcutil"]).when(&[Test::Operand(&["set", "s", "setvcp"])]),
            on(&["xbacklight", "light"]).when(&[Test::Flag(&["-S", "-A", "-U", "-set", "-inc", "-dec"])]),
            on(&["amixer"]).sub(&[&["set", "sset", "cset"]]),
            on(&["alsactl"]).sub(&[&["restore", "store", "init", "kill"]]),
            on(&["pactl", "pacmd", "wpctl"]).when(&[Test::First(&["set-*", "load-module", "unload-module", "suspend-*", "move-*", "kill-*", "exit"])]),
            on(&["v4l2-ctl"]).when(&[Test::Flag(&["-c", "--set-ctrl", "--set-fmt-video", "--set-parm", "-v"])]),
            on(&["chvt", "loadkeys", "setfont", "deallocvt", "openvt", "setleds", "kbdrate"]),
            on(&["stty"]).when(&[Test::Flag(&["-F", "--file"]), Test::Operands(1)]),
            on(&["minicom", "picocom", "cu", "kermit"]).when(&[Test::Operands(1)]),
            on(&["minicom", "picocom"]).when(&[Test::Flag(&["-D", "--device"])]),
        ])
        .denies(&["fwupdmgr update", "flashrom -w bios.rom", "efibootmgr -o 0002,0001", "grub-install /dev/sda", "ipmitool mc reset cold", "racadm serveraction powercycle"])
        .passes(&["fwupdmgr get-devices", "efibootmgr -v", "ipmitool sensor list", "racadm getsysinfo", "ipmitool sel list", "mokutil --sb-state"]),
    Rule::new("hardware.power-limits", Hardware, "changing clocks, power limits or fans")
        .because("it changes how the whole machine runs", ASK)
        .on(&[
            on(&["cpupower"]).sub(&[&["frequency-set", "set", "idle-set"]]),
            on(&["cpufreq-set", "x86_energy_perf_policy", "ryzenadj", "intel-undervolt", "undervolt", "nbfc", "fancontrol", "pwmconfig", "liquidctl", "thermald", "tlp", "auto-cpufreq", "auto-cpufreq-set", "power-profiles-daemon", "throttlestop", "corectrl", "smbios-thermal-ctl", "tpacpi-bat", "jetson_fan"]).unless(&[Test::First(&["status", "list", "get", "stat"]), Test::Flag(&["--stats", "-s", "--list", "-r", "--read"])]),
            on(&["tuned-adm"]).sub(&[&["profile", "off", "auto_profile", "profile_mode"]]).when(&[]),
            on(&["powerprofilesctl"]).sub(&[&["set", "launch"]]),
            on(&["powertop"]).when(&[Test::Flag(&["--auto-tune", "-c", "--calibrate"])]),
            on(&["sensors"]).when(&[Test::Flag(&["-s", "--set"])]),
            on(&["pmset"]).unless(&[Test::Flag(&["-g"])]),
            on(&["chcpu", "chmem", "lsmem-set"]),
            on(&["numad", "irqbalance", "set_irq_affinity.sh", "set_irq_affinity", "set_irq_affinity_cpulist.sh", "set_irq_affinity_bynode.sh"]),
        ])
        .denies(&["cpupower frequency-set -g performance", "tuned-adm profile throughput-performance"])
        .passes(&["cpupower frequency-info", "tuned-adm active", "sensors"]),
    Rule::new("hardware.clock", Hardware, "setting the clock or the machine's name")
        .because("certificates, logs and clusters depend on them", ASK)
        .on(&[
            on(&["date"]).when(&[Test::Flag(&["-s", "--set"])]),
            on(&["date"]).when(&[Test::First(&["0*", "1*"])]).unless(&[Test::Flag(&["-d", "--date", "-r", "--reference", "-f", "--file", "-j"])]),
            on(&["timedatectl"]).sub(&[&["set-time", "set-timezone", "set-ntp", "set-local-rtc", "revert", "ntp-servers"]]),
            on(&["hostnamectl"]).sub(&[&["set-hostname", "set-icon-name", "set-chassis", "set-deployment", "set-location"]]),
            on(&["hostnamectl"]).sub(&[&["hostname", "chassis", "location", "deployment", "icon-name"]]).when(&[Test::Operands(1)]),
            on(&["hostname", "domainname", "nisdomainname"]).when(&[Test::Operands(1)]),
            on(&["hostname"]).when(&[Test::Flag(&["-F", "--file", "-b", "--boot"])]),
            on(&["localectl"]).sub(&[&["set-locale", "set-keymap", "set-x11-keymap"]]),
            on(&["hwclock"]).when(&[Test::Flag(&["-w", "--systohc", "-s", "--hctosys", "--set", "--adjust", "-a", "--systz"])]),
            on(&["ntpdate", "ntpd", "rdate", "sntp", "adjtimex", "tzselect-set", "phc_ctl", "phc2sys", "ptp4l", "chronyd"]).unless(&[Test::Flag(&["-q", "-p", "--print", "-v"])]),
            on(&["chronyc"]).when(&[Test::Operand(&["makestep", "settime", "online", "offline", "burst", "delete", "add", "reset", "shutdown", "manual", "local", "cyclelogs"])]),
            on(&["scutil"]).when(&[Test::Flag(&["--set"])]),
            on(&["systemsetup"]).when(&[Test::Word(&["-set*"])]),
        ])
        .denies(&["date -s 2000-01-01", "date 010100002000", "timedatectl set-time 2000-01-01", "hostnamectl set-hostname x", "hwclock -w", "hostname evil"])
        .passes(&["date", "date +%s", "date -d yesterday", "timedatectl", "hostname", "hostname -f", "hwclock --show", "hostnamectl"]),
    Rule::new("kernel.module", Kernel, "loading or removing kernel modules")
        .because("drivers of running devices go away", "look with `lsmod` or `modinfo`; ask the user")
        .on(&[
            on(&["insmod", "rmmod", "depmod", "kpatch", "update-initramfs", "dracut", "mkinitcpio", "mkinitrd", "mkinitramfs", "initramfs-update", "kmod-static", "installkernel", "kernel-install", "new-kernel-pkg", "genkernel", "kextload", "kextunload", "nvidia-modprobe"]),
            on(&["modprobe"]).unless(&[Test::Flag(&["-n", "--dry-run", "-D", "--show-depends", "-c", "--showconfig", "--resolve-alias", "-R"])]),
            on(&["kmod"]).sub(&[&["load", "unload", "insert", "remove", "static-nodes"]]),
            on(&["dkms"]).sub(&[&["remove", "install", "uninstall", "build", "add", "autoinstall", "unbuild"]]),
            on(&["canonical-livepatch"]).unless(&[Test::First(&["status"])]),
        ])
        .denies(&["rmmod nvidia_uvm", "modprobe -r nvidia", "insmod ./evil.ko", "dkms remove nvidia/580 --all"])
        .passes(&["lsmod", "modinfo nvidia", "dkms status", "modprobe -n nvidia"]),
    Rule::new("kernel.parameter", Kernel, "changing kernel parameters, its log or its security policy")
        .because("it changes the machine for everyone", "read them with `sysctl NAME`; ask the user to change them")
        .on(&[
            on(&["sysctl"]).when(&[Test::Flag(&["-w", "--write", "-p", "--load", "--system", "-f"])]),
            on(&["sysctl"]).when(&[Test::Operand(&["*=*"])]),
            on(&["dmesg"]).when(&[Test::Flag(&["-C", "--clear", "-c", "--read-clear", "-n", "--console-level", "-D", "--console-off", "-E", "--console-on"])]),
            on(&["setenforce", "setsebool", "restorecon", "fixfiles", "load_policy", "aa-disable", "aa-complain", "aa-enforce", "aa-teardown", "aa-remove-unknown", "apparmor_parser", "semodule"]).unless(&[Test::Flag(&["-l", "--list"])]),
            on(&["semanage"]).when(&[Test::Flag(&["-a", "--add", "-d", "--delete", "-m", "--modify", "-D", "--deleteall", "-i"])]),
            on(&["auditctl"]).when(&[Test::Flag(&["-D", "-e", "-a", "-A", "-d", "-w", "-W", "-R", "-b", "-f"])]),
            on(&["bpftool"]).when(&[Test::Operand(&["load", "attach", "detach", "pin", "delete", "update", "loadall", "create"])]),
            on(&["bpftrace"]).when(&[Test::Flag(&["--unsafe"])]),
            on(&["cgset", "cgcreate", "cgdelete", "cgclassify", "cgclear", "cgconfigparser", "ipcrm", "sysrq"]),
            on(&["journalctl"]).when(&[Test::Flag(&["--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate", "--flush", "--relinquish-var", "--setup-keys", "--update-catalog"])]),
            on(&["logrotate", "coredumpctl-clean"]).unless(&[Test::Flag(&["-d", "--debug"])]),
            on(&["faillock"]).when(&[Test::Flag(&["--reset"])]),
            on(&["systemd-tmpfiles"]).when(&[Test::Flag(&["--clean", "--remove", "--create", "--purge"])]),
            on(&["kldload", "kldunload", "nvram-set", "csrutil", "spctl"]).unless(&[Test::First(&["status"])]),
        ])
        .denies(&["sysctl -w net.ipv4.ip_forward=0", "sysctl vm.overcommit_memory=2", "dmesg -C", "setenforce 0", "journalctl --vacuum-time=1d"])
        .passes(&["sysctl net.core.rmem_max", "sysctl -a", "dmesg", "dmesg -T", "getenforce", "journalctl -u x"]),
];
