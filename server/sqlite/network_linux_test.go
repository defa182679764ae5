package sqlite

import (
	"strings"
	"testing"
)

func TestNetworkMagic(t *testing.T) {
	tests := map[uint32]string{0x6969: "NFS", 0xFF534D42: "SMB", 0xFE534D42: "SMB", 0x01021997: "9P",
		0xEF53: "" /* ext4 */, 0x9123683E: "" /* btrfs */, 0x01021994: "" /* tmpfs */, 0x794C7630: "" /* overlay */}
	for magic, want := range tests {
		if got := networkMagic(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
}

func TestFuseName(t *testing.T) {
	const mounts = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:41 / /mnt/remote rw,nosuid shared:3 - fuse.sshfs jo@host:/ rw
41 22 0:42 / /mnt/secret rw,nosuid - fuse.gocryptfs /enc rw
broken line
`
	tests := []struct {
		minor uint32
		want  string
	}{{41, "fuse.sshfs"}, {42, ""}, {43, ""}}
	for _, test := range tests {
		if got := fuseName(strings.NewReader(mounts), 0, test.minor); got != test.want {
			t.Errorf("0:%d is %q, want %q", test.minor, got, test.want)
		}
	}
}
