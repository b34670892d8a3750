#!/bin/sh
# A real kube-apiserver and etcd, for `make test-apiserver`. Where KUBEBUILDER_ASSETS names a folder
# with both (`setup-envtest use` fills one), those are taken and this does nothing. Else, on Debian 12,
# it builds Kubernetes 1.20 from Debian's own source package with Debian's own Go, without installing
# anything: about ten minutes of a core.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"

if [ -x "${KUBEBUILDER_ASSETS:-}/kube-apiserver" ] && [ -x "${KUBEBUILDER_ASSETS:-}/etcd" ]; then
    say "kube-apiserver and etcd of $KUBEBUILDER_ASSETS are taken"
    exit 0
fi
place=$cache/apiserver
if [ -x "$place/kube-apiserver" ] && [ -x "$place/etcd" ]; then
    say "kube-apiserver is there"
    exit 0
fi
need apt-get "Without Debian, set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd."
need dpkg "Without Debian, set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd."
need make "Install make."
only_one apiserver
say "building kube-apiserver 1.20 (34 MB of sources, 90 MB of tools) into $place"
part=$cache/.part-apiserver
rm -rf "$part"
mkdir -p "$part/lists/partial" "$part/archives/partial" "$part/debs" "$part/tools" "$part/bin" "$part/k"

# apt with lists of its own: the system's stay as they are, and nobody has to be root.
mirror=$(sed -n 's/^URIs: *//p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
cat > "$part/debian.sources" <<EOF
Types: deb deb-src
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
apt() {
    (cd "$part/debs" && apt-get -qq -o Dir::Etc::sourcelist="$part/debian.sources" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$part/lists" \
        -o Dir::Cache="$part" -o APT::Sandbox::User= "$@")
}
apt update || fail "apt-get could not read Debian 12's lists; its message stands above"
apt source --download-only kubernetes || fail "Debian's source package kubernetes could not be fetched"
apt download golang-1.19-go golang-1.19-src etcd-server golang-github-modern-go-reflect2-dev ||
    fail "Debian's Go or etcd could not be fetched"
for deb in "$part"/debs/*.deb; do
    dpkg -x "$deb" "$part/tools"
done
tar xzf "$part"/debs/kubernetes_*.orig.tar.gz -C "$part/k" --strip-components=1

# The reflect2 of this tree is from before Go 1.18 and crashes the server on its first merge patch.
vendored=$part/k/vendor/github.com/modern-go/reflect2
rm -f "$vendored"/*.go "$vendored"/*.s
cp "$part"/tools/usr/share/gocode/src/github.com/modern-go/reflect2/*.go "$vendored"
cp "$part"/tools/usr/share/gocode/src/github.com/modern-go/reflect2/*.s "$vendored"
rm -f "$vendored"/*_test.go

# All that the build wants of rsync is a copy.
printf '#!/bin/sh\nexec cp -p "$2" "$3"\n' > "$part/bin/rsync"
chmod +x "$part/bin/rsync"
export GOROOT="$part/tools/usr/lib/go-1.19" GOCACHE="$part/gocache" GOPROXY=off GOFLAGS=
export PATH="$part/bin:$GOROOT/bin:$PATH"
(
    cd "$part/k"
    nice make generated_files
    cd _output/local/go/src/k8s.io/kubernetes
    GO111MODULE=off GOPATH="$part/k/_output/local/go" \
        nice go build -o "$part/kube-apiserver" ./cmd/kube-apiserver
) > "$part/build.log" 2>&1 || fail "kube-apiserver could not be built; see $part/build.log"
rm -rf "$place"
mkdir -p "$place"
cp "$part/tools/usr/bin/etcd" "$part/kube-apiserver" "$place"
rm -rf "$part"
say "kube-apiserver is there"
