package server

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"tendon/net/netcode"
)

// ErrKeyFile is wrapped by every error about a key file.
var ErrKeyFile = errors.New("server: key file")

const keyFileLimit = 1 << 10 // bytes

// LoadKey reads a private key from a file: 32 raw bytes, or 64 hexadecimal digits. The file must be readable by its owner
// only. An error is a sentence with the remedy.
func LoadKey(path string) (netcode.Key, error) {
	wrong := func(format string, args ...any) (netcode.Key, error) {
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, fmt.Errorf(format, args...))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return wrong("%s does not exist: make it with token ADDR --key-file FILE --new-key, or name another file", path)
	}
	if err != nil {
		return wrong("%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return wrong("%w", err)
	case !info.Mode().IsRegular():
		return wrong("%s is not a plain file: name the file that holds the key", path)
	case Exposed(info):
		return wrong("other users may read %s (mode %04o): run chmod 600 on it, and make a new key if one of them has read it", path, info.Mode().Perm())
	case info.Size() == 0 || info.Size() > keyFileLimit:
		return wrong("the size of %s is %d: a key has 32 bytes or 64 hexadecimal digits", path, info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(f, keyFileLimit))
	if err != nil {
		return wrong("%s: %w", path, err)
	}
	key, ok := parseKey(text)
	if !ok {
		return wrong("%s holds no key: it must be 32 bytes or 64 hexadecimal digits, and not all zero", path)
	}
	return key, nil
}

// Exposed reports whether others than its owner may use a file. Windows has no such modes: there it reports false.
func Exposed(f fs.FileInfo) bool { return runtime.GOOS != "windows" && f.Mode().Perm()&0o077 != 0 }

func parseKey(text []byte) (key netcode.Key, ok bool) {
	if len(text) == len(key) {
		copy(key[:], text)
		return key, key != netcode.Key{}
	}
	text = bytes.TrimSpace(text)
	if len(text) != 2*len(key) {
		return key, false
	}
	_, err := hex.Decode(key[:], text)
	return key, err == nil && key != netcode.Key{}
}

// GenerateKey makes a random key and writes it to a new file that only its owner can read, as hexadecimal digits. The file
// is created whole or not at all. An existing file is not changed, and is an error.
func GenerateKey(path string) (netcode.Key, error) {
	var key netcode.Key
	rand.Read(key[:]) // never fails
	// CreateTemp makes the file with mode 0600.
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "%x\n", key)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), path) // unlike a rename, it replaces nothing
	}
	if errors.Is(err, fs.ErrExist) {
		err = errors.New(path + " exists: name another file, or remove it if no server uses that key")
	}
	if err != nil {
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return key, nil
}
