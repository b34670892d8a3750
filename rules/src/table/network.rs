//! Network interfaces, routes, firewall and tunnels.

use crate::Class::Network;
use crate::{Rule, Test, on};

const WHY: &str = "the machine, or others behind it, may lose their connection";
const ASK: &str = "show the state instead (`ip addr`, `ip route`, `nmcli device`); ask the user to change it";

pub(super) const RULES: &[Rule] = &[
    Rule::new("network.interface", Network, "changing network interfaces")
        .because(WHY, ASK)
        .on(&[
            on(&["ip"]).sub(&[&["link"], &["set", "add", "delete", "change", "replace", "property"]]),
            on(&["ip"]).sub(&[&["address", "addrlabel"], &["add", "delete", "flush", "change", "replace", "restore"]]),
            on(&["ip"]).sub(&[&["tunnel", "tuntap", "l2tp", "macsec", "xfrm", "fou", "vrf", "mptcp", "netns", "netconf", "token", "tcp_metrics", "maddress", "ioam", "sr", "nexthop"], &["add", "delete", "set", "change", "flush", "replace", "attach", "state", "policy"]]),
            on(&["ip"]).when(&[Test::Word(&["-b", "-batch"])]),
            on(&["ifconfig"]).when(&[Test::Operands(2)]),
            on(&["macchanger"]).unless(&[Test::Flag(&["-s", "--show", "-l", "--list"])]),
            on(&["ifup", "ifdown", "ifquery-set", "ifenslave", "vconfig", "tunctl", "dhclient", "dhcpcd", "udhcpc", "nmtui", "pppd", "pon", "poff", "slattach", "hostapd", "wpa_supplicant", "create_ap", "teamd", "ifplugd", "avahi-autoipd"]),
            on(&["nmcli"]).sub(&[&["connection"], &["up", "down", "add", "modify", "edit", "delete", "clone", "import", "reload", "load", "migrate"]]),
            on(&["nmcli"]).sub(&[&["device"], &["set", "connect", "reapply", "modify", "disconnect", "delete", "wifi", "up", "down", "checkpoint"]]).unless(&[Test::Operand(&["list"])]),
            on(&["nmcli"]).sub(&[&["networking", "radio"], &["off", "on", "wifi", "wwan", "all"]]),
            on(&["nmcli"]).sub(&[&["general"], &["hostname", "reload", "logging"]]).when(&[Test::Operands(1)]),
            on(&["netplan"]).sub(&[&["apply", "try", "set", "generate", "rebind", "migrate"]]),
            on(&["networkctl"]).sub(&[&["up", "down", "renew", "forcerenew", "reconfigure", "reload", "delete", "edit", "mask", "unmask"]]),
            on(&["resolvectl", "systemd-resolve"]).sub(&[&["dns", "domain", "default-route", "llmnr", "mdns", "dnssec", "dnsovertls", "nta", "revert", "flush-caches", "reset-server-features", "reset-statistics", "log-level"]]).when(&[]),
            on(&["resolvconf"]).when(&[Test::Flag(&["-a", "-d", "-u", "--enable-updates", "--disable-updates"])]),
            on(&["iw"]).when(&[Test::Operand(&["set", "del", "connect", "disconnect", "interface", "reg"])]).unless(&[Test::Operand(&["get", "info", "scan", "link"])]),
            on(&["iwconfig"]).when(&[Test::Operands(2)]),
            on(&["wpa_cli"]).when(&[Test::Operand(&["disconnect", "reconnect", "remove_network", "add_network", "set_network", "terminate", "reconfigure", "disable_network", "enable_network", "select_network", "reassociate", "flush"])]),
            on(&["teamdctl", "bondctl"]).when(&[Test::Operand(&["port", "state", "set", "remove", "add"])]),
            on(&["networksetup"]).when(&[Test::Word(&["-set*", "-remove*", "-create*", "-delete*", "-order*"])]),
            on(&["lldpcli"]).sub(&[&["configure", "unconfigure", "pause", "resume"]]),
            on(&["systemd-resolve"]).when(&[Test::Flag(&["--flush-caches", "--reset-statistics", "--set-dns", "--revert"])]),
            on(&["tcpkill", "dnsspoof"]),
        ])
        .denies(&["ip link set eth0 down", "ip l s eth0 mtu 9000", "ip addr flush dev eth0", "nmcli con mod x ipv4.method auto", "ifconfig eth0 down", "nmcli networking off", "netplan apply"])
        .passes(&["ip link show", "ip a", "ip -s link", "nmcli device status", "nmcli con show", "ifconfig eth0", "ip addr show eth0", "resolvectl status", "netplan get"]),
    Rule::new("network.route", Network, "changing routes, neighbours, bridges or queues")
        .because(WHY, ASK)
        .on(&[
            on(&["ip"]).sub(&[&["route", "rule", "neighbour", "neighbor", "ntable", "mroute"], &["add", "delete", "change", "replace", "flush", "append", "restore", "prepend", "test-set"]]),
            on(&["ip"]).sub(&[&["netns"], &["exec", "add", "delete", "attach", "set"]]),
            on(&["route"]).sub(&[&["add", "del", "delete", "flush", "change"]]),
            on(&["arp", "ndp"]).when(&[Test::Flag(&["-d", "--delete", "-s", "--set", "-f", "--file"])]),
            on(&["tc"]).sub(&[&["qdisc", "class", "filter", "action", "actions", "chain"], &["add", "delete", "replace", "change", "link", "flush"]]),
            on(&["bridge"]).sub(&[&["fdb", "link", "mdb", "vlan", "vni"], &["add", "delete", "set", "replace", "append", "flush"]]),
            on(&["brctl"]).sub(&[&["addbr", "delbr", "addif", "delif", "stp", "setageing", "setbridgeprio", "setfd", "sethello", "setmaxage", "setpathcost", "setportprio", "hairpin"]]),
            on(&["ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovs-dpctl", "ovn-nbctl", "ovn-sbctl"]).unless(&[Test::First(&["show", "list", "list-*", "get", "find", "dump-*", "iface-to-br", "br-exists", "version", "fdb/show"])]),
            on(&["vtysh", "birdc", "gobgp", "frr-reload.py"]).when(&[Test::Contains(&["configure", "conf t", "clear", "disable", "restart", "down", "write", "no ", "add", "del", "reset", "softreset"])]),
        ])
        .denies(&["ip route del default", "route del default", "tc qdisc del dev eth0 root", "brctl delbr br0", "arp -d 10.0.0.1", "ip neigh flush all"])
        .passes(&["ip route", "ip r", "ip route get 1.1.1.1", "ip neigh", "tc qdisc show", "bridge link", "ovs-vsctl show", "arp -a", "route -n"]),
    Rule::new("network.firewall", Network, "changing the firewall")
        .because("it opens the machine or locks everyone out", "list the rules instead (`nft list ruleset`, `iptables -S`); ask the user")
        .on(&[
            on(&["iptables", "ip6tables", "arptables", "ebtables", "iptables-nft", "iptables-legacy", "ip6tables-legacy", "ip6tables-nft"]).when(&[Test::Word(&["-A", "-I", "-D", "-F", "-X", "-P", "-Z", "-N", "-E", "-R", "--append", "--insert", "--delete", "--flush", "--delete-chain", "--policy", "--zero", "--new-chain", "--rename-chain", "--replace", "--atomic-*", "--init-table"])]),
            on(&["iptables-restore", "ip6tables-restore", "iptables-apply", "netfilter-persistent", "ebtables-restore", "arptables-restore", "iptables-nft-restore", "iptables-legacy-restore", "shorewall", "ferm", "firehol", "csf", "apf", "pfctl", "ipfw", "fail2ban-client", "denyhosts"]).unless(&[Test::First(&["status", "show", "list"]), Test::Flag(&["-t", "--test"])]),
            on(&["nft"]).sub(&[&["add", "delete", "flush", "insert", "replace", "create", "destroy", "reset", "rename"]]),
            on(&["nft"]).when(&[Test::Flag(&["-f", "--file", "-i", "--interactive"])]).unless(&[Test::Flag(&["-c", "--check"])]),
            on(&["nft"]).when(&[Test::First(&["add *", "delete *", "flush *", "insert *", "replace *", "create *", "destroy *", "reset *"])]),
            on(&["ufw"]).unless(&[Test::First(&["status", "show", "version", "app"]), Test::Flag(&["--dry-run"])]),
            on(&["firewall-cmd", "firewall-offline-cmd"]).when(&[Test::Word(&["--add-*", "--remove-*", "--reload", "--complete-reload", "--set-*", "--panic-on", "--panic-off", "--change-*", "--new-*", "--delete-*", "--load-*", "--runtime-to-permanent", "--permanent", "--direct", "--lockdown-*", "--reset-*", "--policy-server"])]).unless(&[Test::Word(&["--list-*", "--get-*", "--query-*", "--info-*"])]),
            on(&["ipset"]).sub(&[&["create", "add", "del", "test-set", "destroy", "flush", "rename", "swap", "restore", "n", "x", "f", "a", "d"]]),
            on(&["ipvsadm"]).when(&[Test::Flag(&["-A", "-E", "-D", "-C", "-R", "-a", "-e", "-d", "-Z", "--clear", "--add-service", "--delete-service", "--restore", "--set"])]),
            on(&["conntrack"]).when(&[Test::Flag(&["-D", "--delete", "-F", "--flush", "-U", "--update", "-I", "--create"])]),
        ])
        .denies(&["iptables -F", "sudo iptables -t nat -X", "ip6tables --flush", "nft flush ruleset", "ufw disable", "firewall-cmd --add-port=80/tcp", "iptables-restore < /dev/null"])
        .passes(&["iptables -L -n", "iptables -S", "nft list ruleset", "ufw status", "firewall-cmd --list-all", "ipset list"]),
    Rule::new("network.tunnel", Network, "changing tunnels and virtual private networks")
        .because(WHY, "show the state instead; ask the user")
        .on(&[
            on(&["wg"]).sub(&[&["set", "setconf", "addconf", "syncconf"]]),
            on(&["wg-quick", "openvpn", "openconnect", "vpnc", "strongswan", "ipsec", "swanctl", "xl2tpd", "pptp", "sshuttle", "ngrok", "cloudflared", "frpc", "frps", "bore", "localtunnel", "lt", "pagekite", "chisel", "gost", "ligolo", "tor", "zrok", "nebula", "iodine"]).unless(&[Test::First(&["status", "statusall", "version"]), Test::Flag(&["--list-sas", "--version", "--list-conns", "-l"])]),
            on(&["tailscale"]).sub(&[&["up", "down", "logout", "login", "set", "switch", "serve", "funnel", "ssh", "file", "lock", "update", "exit-node", "drive", "configure", "cert"]]),
            on(&["tailscaled", "zerotier-one"]),
            on(&["zerotier-cli"]).sub(&[&["join", "leave", "set", "orbit", "deorbit"]]),
            on(&["nordvpn", "protonvpn", "mullvad", "warp-cli", "expressvpn"]).unless(&[Test::First(&["status", "account", "countries", "version"])]),
            on(&["ssh-add"]).when(&[Test::Flag(&["-D", "-d", "-x", "-X"])]),
            on(&["ssh"]).when(&[Test::Flag(&["-R", "-D", "-w"])]),
            on(&["teleport", "tsh", "boundary"]).unless(&[Test::First(&["status", "ls", "version"])]),
        ])
        .denies(&["wg-quick down wg0", "tailscale down", "wg set wg0 peer x", "ngrok http 8000"])
        .passes(&["wg", "wg show", "tailscale status"]),
];
