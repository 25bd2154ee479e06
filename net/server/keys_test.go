package server

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tendon/net/netcode"
)

// A generated key can be loaded, only its owner can read the file, and it is never overwritten.
func TestAKeyFileIsMadeOnceAndLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.key")
	made, err := GenerateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if loaded, err := LoadKey(path); err != nil || loaded != made || made == (netcode.Key{}) {
		t.Errorf("loaded %x, %v; made %x", loaded, err, made)
	}
	if _, err := GenerateKey(path); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), "exists") {
		t.Errorf("made again: %v", err)
	}
	if again, err := LoadKey(path); err != nil || again != made {
		t.Errorf("after the second attempt: %x, %v", again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Each error of a key file is one sentence with the remedy.
func TestErrorsOfKeyFilesNameTheRemedy(t *testing.T) {
	dir := t.TempDir()
	raw := make([]byte, 32)
	raw[5] = 7
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		want          string // in the error; empty: no error
	}{
		{"raw", string(raw), 0o600, ""},
		{"hex", hex.EncodeToString(raw), 0o600, ""},
		{"hex with spaces", " " + strings.ToUpper(hex.EncodeToString(raw)) + "\r\n", 0o400, ""},
		{"readable by all", hex.EncodeToString(raw), 0o644, "chmod 600"},
		{"readable by the group", hex.EncodeToString(raw), 0o640, "chmod 600"},
		{"short", "abcd", 0o600, "64 hexadecimal digits"},
		{"zero", strings.Repeat("0", 64), 0o600, "not all zero"},
		{"no digits", strings.Repeat("xy", 32), 0o600, "64 hexadecimal digits"},
		{"long", strings.Repeat("a", 5000), 0o600, "64 hexadecimal digits"},
	} {
		if runtime.GOOS == "windows" && strings.HasPrefix(c.name, "readable") {
			continue
		}
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		key, err := LoadKey(path)
		switch {
		case c.want == "" && (err != nil || string(key[:]) != string(raw)):
			t.Errorf("%s: %x, %v", c.name, key, err)
		case c.want != "" && (!errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := LoadKey(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), "--new-key") {
		t.Errorf("no file: %v", err)
	}
	if _, err := LoadKey(dir); !errors.Is(err, ErrKeyFile) {
		t.Errorf("a directory: %v", err)
	}
}
