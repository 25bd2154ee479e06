//go:build !js

package web

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	lifetime = 13 * 24 * time.Hour // of a self-signed certificate; browsers refuse more than 14 days
	overlap  = 24 * time.Hour      // in which two certificates are valid; the next one is used from its middle
	recheck  = time.Minute         // between two looks at the files of an authority's certificate
)

// certificateFiles are the files of self-signed certificates: the present one and the next one.
var certificateFiles = [...]string{"present.pem", "next.pem"}

// Certificates provides the present certificate of a Listener. Several goroutines may use it.
type Certificates struct {
	dir       string // of self-signed certificates
	cert, key string // files of an authority's certificate
	clock     func() time.Time

	mu      sync.Mutex
	list    []*tls.Certificate // self-signed: the present and the next one; else one
	checked time.Time          // when the files were looked at
	changed time.Time          // the time of the certificate's file
}

// LoadCertificates reads a chain of certificates and its key from PEM files. It reads them again after they have changed; a
// file that cannot be read then leaves the old certificate in use.
func LoadCertificates(cert, key string) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, clock: time.Now}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Certificates) load() error {
	info, err := os.Stat(c.cert)
	if err != nil {
		return fmt.Errorf("web: certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("web: certificate %s with key %s: %w", c.cert, c.key, err)
	}
	c.list, c.changed = []*tls.Certificate{&pair}, info.ModTime()
	return nil
}

// SelfSigned returns certificates that the program makes itself. They are stored in a folder, so that invitations stay
// valid after a restart. The folder is made if it does not exist.
func SelfSigned(dir string) (*Certificates, error) { return selfSigned(dir, time.Now) }

func selfSigned(dir string, clock func() time.Time) (*Certificates, error) {
	if dir == "" {
		return nil, errors.New("web: the folder of the certificates has no name")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("web: folder of certificates: %w", err)
	}
	c := &Certificates{dir: dir, clock: clock}
	for _, name := range certificateFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("web: certificate: %w", err)
		}
		if pair, err := tls.X509KeyPair(data, data); err == nil {
			c.list = append(c.list, &pair) // a damaged file is replaced
		}
	}
	return c, c.rotate(clock())
}

// rotate makes the present certificate one that is valid now, and the next one its successor. The caller holds the lock.
func (c *Certificates) rotate(now time.Time) error {
	before := len(c.list)
	for len(c.list) > 0 && !now.Before(c.list[0].Leaf.NotAfter.Add(-overlap/2)) {
		c.list = c.list[1:]
	}
	if len(c.list) > 0 && now.Before(c.list[0].Leaf.NotBefore) { // the clock of the host was set back
		c.list = nil
	}
	if len(c.list) == 2 && before == 2 {
		return nil
	}
	for len(c.list) < 2 {
		from := now.Add(-time.Hour) // clocks differ
		if len(c.list) == 1 {
			from = c.list[0].Leaf.NotAfter.Add(-overlap)
		}
		made, err := newCertificate(from)
		if err != nil {
			return fmt.Errorf("web: making a certificate: %w", err)
		}
		c.list = append(c.list, made)
	}
	for i, name := range certificateFiles {
		if err := c.store(name, c.list[i]); err != nil {
			c.list = c.list[:1] // the next call makes and stores another one
			return fmt.Errorf("web: storing a certificate: %w", err)
		}
	}
	return nil
}

// newCertificate makes a certificate that is valid from a moment, and fits any host.
func newCertificate(from time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	form := x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "tendon"}, DNSNames: []string{"localhost"}, NotBefore: from, NotAfter: from.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, &form, &form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// store replaces a file with a certificate and its key.
func (c *Certificates) store(name string, of *tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(of.PrivateKey)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate[0]}) // a buffer cannot fail
	_ = pem.Encode(&out, &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path+".new", out.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Get returns the present certificate, for tls.Config.
func (c *Certificates) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	return c.list[0], nil
}

// refresh rotates or reloads the certificates. After an error those before stay in use. The caller holds the lock.
func (c *Certificates) refresh() {
	now := c.clock()
	if since := now.Sub(c.checked); since >= 0 && since < recheck {
		return
	}
	c.checked = now
	if c.dir != "" {
		old := c.list
		if c.rotate(now) != nil && len(c.list) == 0 {
			c.list = old
		}
		return
	}
	if info, err := os.Stat(c.cert); err == nil && !info.ModTime().Equal(c.changed) {
		_ = c.load()
	}
}

// Dir returns the folder of self-signed certificates, or "" for certificates of an authority.
func (c *Certificates) Dir() string { return c.dir }

// ReadHashes returns the hashes of the self-signed certificates in a folder. Processes other than the server use it to make
// invitations. It changes no file.
func ReadHashes(dir string) (hashes []Hash, err error) {
	for _, name := range certificateFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("web: certificate: %w; start the server first, because it makes the certificates", err)
		}
		pair, err := tls.X509KeyPair(data, data)
		if err != nil {
			return nil, fmt.Errorf("web: certificate %s: %w", filepath.Join(dir, name), err)
		}
		if time.Now().Before(pair.Leaf.NotAfter) {
			hashes = append(hashes, sha256.Sum256(pair.Certificate[0]))
		}
	}
	if len(hashes) == 0 {
		return nil, fmt.Errorf("web: the certificates in %s have ended: start the server, which makes new ones", dir)
	}
	return hashes, nil
}

// Hashes returns the hashes of the present self-signed certificate and of the next one, for invitations. It returns none for a
// certificate of an authority.
func (c *Certificates) Hashes() (hashes []Hash) {
	if c.dir == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	for _, one := range c.list {
		hashes = append(hashes, sha256.Sum256(one.Certificate[0]))
	}
	return hashes
}
