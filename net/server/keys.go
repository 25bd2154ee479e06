package server

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"tendon/net/netcode"
)

// ErrKeyFile is wrapped by every error about a key file.
var ErrKeyFile = errors.New("server: key file")

// keyFileLimit bounds the bytes that are read of a key file, which should hold 64 digits and white space.
const keyFileLimit = 1 << 10

// LoadKey reads a private key from a file: 32 raw bytes, or 64 hexadecimal digits. The file must be readable by its owner
// only. An error is a sentence with the remedy.
func LoadKey(path string) (netcode.Key, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return netcode.Key{}, fmt.Errorf("%w: %s does not exist: make one with token --new-key, or name another file", ErrKeyFile, path)
	}
	if err != nil {
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	case !info.Mode().IsRegular():
		return netcode.Key{}, fmt.Errorf("%w: %s is not a plain file: name the file that holds the key", ErrKeyFile, path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return netcode.Key{}, fmt.Errorf("%w: others may read %s (mode %04o): run chmod 600 on it, or make a new key if they have",
			ErrKeyFile, path, info.Mode().Perm())
	case info.Size() > keyFileLimit:
		return netcode.Key{}, fmt.Errorf("%w: %s has %d bytes: a key is 32 bytes or 64 hexadecimal digits", ErrKeyFile, path, info.Size())
	}
	text := make([]byte, keyFileLimit)
	n, err := f.Read(text)
	if err != nil {
		return netcode.Key{}, fmt.Errorf("%w: %s: %w", ErrKeyFile, path, err)
	}
	key, ok := parseKey(text[:n])
	if !ok {
		return key, fmt.Errorf("%w: %s holds no key: it must be 32 bytes or 64 hexadecimal digits, and not all zero", ErrKeyFile, path)
	}
	return key, nil
}

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
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(f.Name(), path) // unlike a rename, it replaces nothing
	}
	if errors.Is(err, fs.ErrExist) {
		return netcode.Key{}, fmt.Errorf("%w: %s exists: name another file, or remove it if no server uses that key", ErrKeyFile, path)
	}
	if err != nil {
		return netcode.Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return key, nil
}
