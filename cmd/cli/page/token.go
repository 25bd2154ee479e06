package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

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
