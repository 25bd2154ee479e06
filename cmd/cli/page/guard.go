//go:build !js

package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// headers are those of every response.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), usb=()",
	"Referrer-Policy":              "same-origin", // with no-referrer, forms would send Origin: null
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// guard checks the header of every request before its handler runs.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !s.knownHost(r):
			refuse(w, http.StatusMisdirectedRequest, "this server does not have that name: open it by its address, or configure the host name")
		case s.controls[r.URL.Path] && s.config.Token == "":
			refuse(w, http.StatusForbidden, "this needs a token, and the server has none: start it with --admin-token-file FILE")
		case s.controls[r.URL.Path] && !s.admitted(r) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "": // a program
			s.askToken(w, r)
		case !ownOrigin(r):
			refuse(w, http.StatusForbidden, "pages of other sites have no access")
		case !s.admitted(r):
			s.askToken(w, r)
		case s.controls[r.URL.Path] && !same(bearer(r), s.config.Token):
			refuse(w, http.StatusUnauthorized, "this needs the token in the header: send it as Authorization: Bearer TOKEN")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// knownHost reports whether the Host of a request is this server: the address of the connection, localhost if that is
// loopback, or a name of the Config. It refuses other names that resolve to this address ("DNS rebinding"). The port of a
// loopback name may differ, since a tunnel has its own.
func (s *Server) knownHost(r *http.Request) bool {
	if slices.ContainsFunc(s.config.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		name, port = strings.Trim(r.Host, "[]"), "80"
	}
	at := local.AddrPort()
	if at.Addr().Unmap().IsLoopback() {
		ip, err := netip.ParseAddr(name)
		return strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
	}
	host, err := netip.ParseAddrPort(net.JoinHostPort(name, port))
	return err == nil && host.Addr().Unmap() == at.Addr().Unmap() && host.Port() == at.Port()
}

// ownOrigin reports whether a request comes from a page of this server, or from no page: a typed address or a program. A
// stream and a request other than GET must have an Origin, or a token in the header, which pages of other sites cannot send.
func ownOrigin(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "same-origin" || site == "none":
	case reads && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document": // a link
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return reads && r.Header.Get("Upgrade") == "" || bearer(r) != ""
	}
	from, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (from.Scheme == "http" || from.Scheme == "https") && strings.EqualFold(from.Host, r.Host)
}

//go:embed assets/token.html
var tokenPage []byte

const tokenPath = "/token" // the path where a page exchanges a token for a cookie

// admitted reports whether a request has the token, in its header or as the cookie. The assets are not secret, and the page
// that asks for the token needs them.
func (s *Server) admitted(r *http.Request) bool {
	if s.config.Token == "" || strings.HasPrefix(r.URL.Path, assetsPath) || s.public[r.URL.Path] || same(bearer(r), s.config.Token) {
		return true
	}
	return slices.ContainsFunc(r.CookiesNamed(s.cookieName()), func(c *http.Cookie) bool { return same(c.Value, s.cookieValue()) })
}

// same compares in constant time. Its duration does not depend on the contents or lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// cookieName contains the port: all ports of a host share cookies, and two servers must not overwrite each other's.
func (s *Server) cookieName() string { return fmt.Sprintf("tendon-%d", s.Addr().Port()) }

// cookieValue is derived from the token, does not disclose it, and is the same after a restart.
func (s *Server) cookieValue() string {
	mac := hmac.New(sha256.New, []byte(s.config.Token))
	mac.Write([]byte("tendon page cookie"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxToken+1))
	if err != nil || !same(string(body), s.config.Token) {
		refuse(w, http.StatusForbidden, "that is not the token")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: s.cookieValue(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	})
	w.WriteHeader(http.StatusNoContent)
}

// askToken responds to a request without a token. A browser receives a page that asks for the token or takes it from the
// address; a program receives a sentence.
func (s *Server) askToken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="tendon"`)
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refuse(w, http.StatusUnauthorized, "a token is needed: send it as Authorization: Bearer TOKEN, or open the link with #token=TOKEN")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(tokenPage)
}
