package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/playpage"
	"tendon/net/web"
)

type webFlags struct {
	Web       string   `group:"Browsers" placeholder:"ADDR" help:"Also accept browsers at this address, as host:port: WebTransport by UDP, and WebSocket and pages by TCP."`
	WebPublic string   `group:"Browsers" placeholder:"HOST:PORT" help:"Address of --web as browsers see it, in invitations. Default: that of --web, or localhost if --web has no host."`
	WebCert   string   `group:"Browsers" type:"path" help:"File with the certificates of --web, in PEM. Default: self-signed ones, which browsers accept by their hashes in the invitation."`
	WebKey    string   `group:"Browsers" type:"path" help:"File with the key of --web-cert, in PEM."`
	WebOrigin []string `group:"Browsers" placeholder:"ORIGIN" help:"Origin of a page on another server that may connect, such as https://example.com; may be given several times. *: every page."`
	WebPages  string   `group:"Browsers" type:"path" placeholder:"DIR" help:"Serve the files of this directory at --web: those that the verb web --out wrote."`

	listener     *web.Listener
	certificates *web.Certificates
}

// startWeb opens the sockets of --web, if the flag is set. It also serves the broadcasts in the directory casts, which may be "".
func (f *webFlags) startWeb(a *app.App, journal, casts string) (err error) {
	if f.Web == "" {
		if f.WebPublic+f.WebCert+f.WebKey+f.WebPages != "" || len(f.WebOrigin) > 0 {
			return errors.New("--web-public, --web-cert, --web-key, --web-origin and --web-pages go with --web: add an address, such as --web :7778")
		}
		return nil
	}
	if (f.WebCert == "") != (f.WebKey == "") {
		return errors.New("--web-cert and --web-key go together: give both, or neither for a self-signed certificate")
	}
	if _, _, err := net.SplitHostPort(f.WebPublic); f.WebPublic != "" && err != nil {
		return fmt.Errorf("--web-public %q: %w; give host:port", f.WebPublic, err)
	}
	if f.WebCert != "" {
		if f.certificates, err = web.LoadCertificates(f.WebCert, f.WebKey); err != nil {
			err = fmt.Errorf("--web-cert and --web-key: %w; give the certificates and the key that belongs to the first of them", err)
		}
	} else {
		var dir string
		if dir, err = certificateDir(a, journal); err == nil {
			if f.certificates, err = web.SelfSigned(dir); err != nil {
				err = fmt.Errorf("self-signed certificate in %s: %w; make the folder writable, or give --web-cert and --web-key", dir, err)
			}
		}
	}
	if err != nil {
		return err
	}
	c := web.Config{Address: f.Web, Certificates: f.certificates, Origins: f.WebOrigin}
	if f.WebPages != "" {
		if _, err := os.Stat(filepath.Join(f.WebPages, "index.html")); err != nil {
			return fmt.Errorf("--web-pages: %w; the verb web --out writes the files", err)
		}
		c.Pages = http.FileServer(http.Dir(f.WebPages))
	}
	c.Pages = handler(c.Pages, casts)
	f.listener, err = web.Listen(c)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--web %s is in use: choose another port", f.Web)
	case err != nil:
		return fmt.Errorf("--web: %w", err)
	}
	return nil
}

// certificateDir returns the folder of self-signed certificates: beside the journals, or in the user's cache.
func certificateDir(a *app.App, journal string) (string, error) {
	if journal != "" {
		return filepath.Join(journal, "certificates"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for a self-signed certificate: %w; give --web-cert and --web-key", err)
	}
	return filepath.Join(cache, "tendon", a.Game.Name, "certificates"), nil
}

// publicWeb returns the public address of --web. For a listener on all interfaces that is localhost. Such a listener serves
// pages with TLS, and playpage.Link returns a link without TLS for the address 127.0.0.1.
func (f *webFlags) publicWeb() string {
	if f.WebPublic != "" {
		return f.WebPublic
	}
	at := netip.MustParseAddrPort(f.listener.LocalAddr().String())
	if at.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", at.Port())
	}
	return at.String()
}

// invitation returns the link for one player with a token.
func (f *webFlags) invitation(token []byte) string {
	return playpage.Link(token, f.publicWeb(), "", f.certificates.Hashes())
}

// mintFlags returns the flags that make the verb token print links, with a leading space.
func (f *webFlags) mintFlags() string {
	if f.listener == nil {
		return ""
	}
	flags := " --web " + f.publicWeb()
	if dir := f.certificates.Dir(); dir != "" {
		flags += " --web-certificates " + app.Quoted(dir)
	}
	return flags
}

// advice returns what prevents browsers from opening the page of a link, "" for nothing.
func (f *webFlags) advice() string {
	switch secure := strings.HasPrefix(f.invitation(nil), "https:"); {
	case f.WebPages == "":
		return "links need a page: add --web-pages DIR here, or --web-page URL to the verb token; the verb web --out writes the page"
	case secure && f.certificates.Dir() != "":
		return "browsers warn before the page, because its certificate is self-signed: use --web-cert, a page on another server with token --web-page, or --web 127.0.0.1:PORT for browsers on this computer"
	}
	return ""
}
