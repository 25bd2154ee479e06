//go:build !js

package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Over a year, the certificate in use is one that browsers accept by its hash, and an invitation is valid for twelve days.
func TestSelfSignedCertificatesRotate(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c, err := selfSigned(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	type invitation struct {
		at     time.Time
		hashes []Hash
	}
	var invitations []invitation
	used := map[Hash]bool{}
	for range 365 * 4 {
		now = now.Add(6 * time.Hour)
		if now.Hour() == 0 && now.Day() == 1 { // the server starts again
			if c, err = selfSigned(dir, func() time.Time { return now }); err != nil {
				t.Fatal(err)
			}
		}
		present, err := c.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		key, ok := present.PrivateKey.(*ecdsa.PrivateKey)
		leaf := present.Leaf
		if !ok || key.Curve != elliptic.P256() || now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) || leaf.NotAfter.Sub(leaf.NotBefore) > 14*24*time.Hour {
			t.Fatalf("at %v the certificate is valid from %v to %v", now, leaf.NotBefore, leaf.NotAfter)
		}
		hash := Hash(sha256.Sum256(present.Certificate[0]))
		used[hash] = true
		invitations = append(invitations, invitation{now, c.Hashes()})
		for _, i := range invitations {
			if now.Sub(i.at) <= 12*24*time.Hour && !slices.Contains(i.hashes, hash) {
				t.Fatalf("the invitation of %v is not valid at %v", i.at, now)
			}
		}
		invitations = slices.DeleteFunc(invitations, func(i invitation) bool { return now.Sub(i.at) > 12*24*time.Hour })
	}
	if len(used) < 28 || len(used) > 33 {
		t.Errorf("%d certificates in a year", len(used))
	}
	info, err := os.Stat(filepath.Join(dir, "present.pem"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A certificate of the future, made before the clock was set back, and a damaged file are replaced.
func TestUnusableCertificatesAreReplaced(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c, err := selfSigned(dir, func() time.Time { return now.Add(365 * 24 * time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	old := c.Hashes()
	check := func() {
		t.Helper()
		if c, err = selfSigned(dir, func() time.Time { return now }); err != nil {
			t.Fatal(err)
		}
		present, _ := c.Get(nil)
		if now.Before(present.Leaf.NotBefore) || now.After(present.Leaf.NotAfter) || slices.Contains(old, c.Hashes()[0]) {
			t.Errorf("valid from %v to %v", present.Leaf.NotBefore, present.Leaf.NotAfter)
		}
		old = c.Hashes()
	}
	check()
	if err := os.WriteFile(filepath.Join(dir, "present.pem"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	check()
}

// After certificates could not be stored, they are stored later. Invitations have no hash that a restart would lose.
func TestCertificatesAreStoredLater(t *testing.T) {
	now := time.Now()
	dir := filepath.Join(t.TempDir(), "certificates")
	c, err := selfSigned(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	now = now.Add(lifetime - overlap/2)
	if hashes := c.Hashes(); len(hashes) != 1 {
		t.Errorf("%d hashes while nothing can be stored, want 1", len(hashes))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now = now.Add(recheck)
	hashes := c.Hashes()
	if c, err = selfSigned(dir, func() time.Time { return now }); err != nil || len(hashes) != 2 || !slices.Equal(c.Hashes(), hashes) {
		t.Errorf("%v; after a restart the hashes are %x, want %x", err, c.Hashes(), hashes)
	}
}

// The files of an authority's certificate are read again after a change. A damaged file leaves the old one in use.
func TestAChangedCertificateIsLoaded(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cert := filepath.Join(dir, "present.pem")
	write := func(at time.Time) {
		if err := os.RemoveAll(cert); err != nil {
			t.Fatal(err)
		}
		if _, err := SelfSigned(dir); err != nil { // one file has both
			t.Fatal(err)
		}
		if err := os.Chtimes(cert, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(now)
	c, err := LoadCertificates(cert, cert)
	if err != nil {
		t.Fatal(err)
	}
	c.clock = func() time.Time { return now }
	get := func() *tls.Certificate {
		now = now.Add(recheck)
		one, err := c.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	first := get()
	if get() != first {
		t.Error("an unchanged file is read again")
	}
	os.Remove(filepath.Join(dir, "next.pem"))
	write(now.Add(time.Hour))
	second := get()
	if string(second.Certificate[0]) == string(first.Certificate[0]) {
		t.Error("the new certificate is not used")
	}
	if err := os.WriteFile(cert, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if string(get().Certificate[0]) != string(second.Certificate[0]) {
		t.Error("a damaged file replaces the certificate")
	}
	if c.Hashes() != nil {
		t.Error("hashes of an authority's certificate")
	}
	if _, err := LoadCertificates(cert, cert); err == nil {
		t.Error("a damaged file is accepted")
	}
}

// Another process reads the hashes of the server's certificates from their folder, and none of a folder without them.
func TestHashesAreReadFromTheFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadHashes(dir); err == nil || !strings.Contains(err.Error(), "start the server") {
		t.Error(err)
	}
	c, err := SelfSigned(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadHashes(c.Dir()); err != nil || !slices.Equal(got, c.Hashes()) {
		t.Errorf("%x, %v, want %x", got, err, c.Hashes())
	}
	if _, err := selfSigned(dir, func() time.Time { return time.Now().Add(-60 * 24 * time.Hour) }); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHashes(dir); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}
