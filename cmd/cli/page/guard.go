package page

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// headers go with every answer. Nothing of a page comes from elsewhere or is written in place, nobody frames it, no
// other site loads parts of it, and types are what they are said to be.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), usb=()",
	"Referrer-Policy":              "same-origin", // no-referrer would let forms of our own send Origin: null
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// guard checks every request before anything of it is read but its header.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !s.knownHost(r):
			refuse(w, http.StatusMisdirectedRequest, "this server is not known by that name: open it by its address, or name the host when it is started")
		case !ownOrigin(r):
			refuse(w, http.StatusForbidden, "pages of other sites may not ask here")
		case !s.admitted(r):
			s.askToken(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers with a sentence.
func refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// knownHost reports whether the request names this server: by the address that it came to, as localhost if that is
// loopback, or by a name of the Config. A page that was resolved to this address under a name of its own ("DNS
// rebinding") is none of these. The port of a loopback name may differ, since a tunnel has one of its own.
func (s *Server) knownHost(r *http.Request) bool {
	for _, h := range s.config.Hosts {
		if strings.EqualFold(h, r.Host) {
			return true
		}
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

// ownOrigin reports whether the request comes from one of this server's own pages, or from no page at all: a person who
// opened an address, a program. What opens a stream or is no GET has to say where it comes from, as every browser does,
// or to carry a token in its header, as no page of another site can.
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
