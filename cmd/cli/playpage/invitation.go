package playpage

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tendon/net/netcode"
	"tendon/net/web"
)

// Invitation is all that a browser needs to join a match.
type Invitation struct {
	Token  []byte   `json:"token"`            // the connect token
	URLs   []string `json:"urls"`             // of the server: see Target of net/web. The preferred one first
	Hashes [][]byte `json:"hashes,omitempty"` // of the server's certificates, if they are self-signed
	Bot    bool     `json:"bot,omitempty"`    // a bot plays
}

// Text returns the invitation as text for a link.
func (i *Invitation) Text() string {
	var out bytes.Buffer
	z, _ := flate.NewWriter(&out, flate.BestCompression) // the level is valid, and a buffer cannot fail
	_ = json.NewEncoder(z).Encode(i)
	_ = z.Close()
	return base64.RawURLEncoding.EncodeToString(out.Bytes())
}

// Link returns the link with which one browser joins with a token. address is the public address of the server's --web, as
// host:port. hashes are those of the server's self-signed certificates, if it uses them. On a loopback address it then serves
// without TLS. page is the address of the page. "" stands for the page of the server.
func Link(token []byte, address, page string, hashes []web.Hash) string {
	if page == "" && web.Plain(address, hashes) {
		page = "http://" + address + "/"
	} else if page == "" {
		page = "https://" + address + "/"
	}
	i := Invitation{Token: token, Hashes: web.HashBytes(hashes)}
	for _, t := range web.Targets(address, hashes) {
		i.URLs = append(i.URLs, t.URL)
	}
	return page + "#join=" + i.Text()
}

// maxInvitation bounds the text of an invitation, in bytes.
const maxInvitation = 16 << 10

// ParseInvitation is the inverse of Text. It checks all sizes.
func ParseInvitation(text string) (i Invitation, err error) {
	if len(text) > maxInvitation {
		return i, errors.New("the link is too long to be an invitation")
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxInvitation)).Decode(&i)
	}
	switch {
	case err != nil:
		return i, fmt.Errorf("the link is not a whole invitation: ask for another one (%w)", err)
	case len(i.Token) != netcode.TokenSize || len(i.URLs) == 0:
		return i, errors.New("the link is not a whole invitation: ask for another one")
	}
	for _, h := range i.Hashes {
		if len(h) != len(web.Hash{}) {
			return i, errors.New("the link has a hash of a wrong size: ask for another one")
		}
	}
	return i, nil
}

// Dialer returns a dialer with the URLs and hashes of the invitation.
func (i *Invitation) Dialer() *web.Dialer {
	d := &web.Dialer{}
	for _, u := range i.URLs {
		d.Targets = append(d.Targets, web.Target{URL: u, Hashes: web.ParseHashes(i.Hashes)})
	}
	return d
}
