package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestMissingDirectoriesAreCreatedAndExistingOnesStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := MakeDirectory(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Error(info, err)
	}
	if err := SyncDirectory(dir); err != nil {
		t.Error(err)
	}
}

func TestFailuresAreErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := MakeDirectory(filepath.Join(file, "below")); err == nil {
		t.Error("a directory in a file")
	}
	if err := SyncDirectory(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := Rename(filepath.Join(dir, "none"), file); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := Rename(file, filepath.Join(dir, "other")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
		t.Error(err)
	}
}

// The lock ends with its holder.
func TestALockHasOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Error("taken twice:", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = Lock(path); err != nil {
		t.Fatal("after it was released:", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
