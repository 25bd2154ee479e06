package backend

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
)

// Access authenticates requests by their bearer token.
type Access struct {
	// Keys are the keys of programs. Optional.
	Keys []Key
	// Verify returns the claims of a valid JWT. Optional.
	Verify func(ctx context.Context, token string) (map[string]any, error)
	// Claim is the claim with the id of the player. Default: sub.
	Claim string
}

// Key is the key of a program with full access.
type Key struct {
	Name string
	hash [sha256.Size]byte
}

// caller is the sender of a request.
type caller struct {
	name   string // for the rate limit
	full   bool   // may send all requests
	player string // if not full
}

const (
	minKey    = 16      // characters
	maxBearer = 8192    // bytes
	maxPlayer = 128     // bytes of a player's id
	maxKeys   = 1 << 20 // bytes of the keys of an issuer
)

var errAccess = errors.New("the bearer token is missing or not valid: send Authorization: Bearer with a key of the backend, or a JWT of its issuer")

// LoadKeys reads keys: one a line, a name and a key of at least 16 characters. Empty lines and those that begin with # are ignored.
func LoadKeys(content []byte) (list []Key, err error) {
	number := 0
	for line := range bytes.Lines(content) {
		number++
		words := bytes.Fields(line)
		if len(words) == 0 || bytes.HasPrefix(words[0], []byte("#")) {
			continue
		}
		if len(words) != 2 || len(words[1]) < minKey || len(words[1]) > maxBearer {
			return nil, fmt.Errorf("line %d of the keys is not valid: write a name and a key of %d characters or more", number, minKey)
		}
		key := Key{string(words[0]), sha256.Sum256(words[1])}
		if i := slices.IndexFunc(list, func(k Key) bool { return k.hash == key.hash }); i >= 0 {
			return nil, fmt.Errorf("line %d of the keys is not valid: %s has the same key: give each name a key of its own", number, list[i].Name)
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, errors.New("the file of keys is empty: write a line with a name and a key into it")
	}
	return list, nil
}

// caller authenticates a bearer token. All keys are compared in constant time.
func (a *Access) caller(ctx context.Context, header string) (caller, error) {
	if a == nil {
		return caller{name: "all", full: true}, nil
	}
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxBearer {
		return caller{}, errAccess
	}
	hash, found := sha256.Sum256([]byte(token)), -1
	for i := range a.Keys {
		if subtle.ConstantTimeCompare(hash[:], a.Keys[i].hash[:]) == 1 {
			found = i
		}
	}
	if found >= 0 {
		return caller{name: "key " + a.Keys[found].Name, full: true}, nil
	}
	if a.Verify == nil || strings.Count(token, ".") != 2 {
		return caller{}, errAccess
	}
	claims, err := a.Verify(ctx, token)
	if errors.Is(err, errIssuer) {
		return caller{}, errIssuer
	}
	if err != nil {
		return caller{}, fmt.Errorf("%w: %w", errAccess, err)
	}
	claim := a.Claim
	if claim == "" {
		claim = "sub"
	}
	player, _ := claims[claim].(string)
	if !validPlayer(player) {
		return caller{}, fmt.Errorf("%w: the claim %.40q of the JWT is not valid: it needs %s", errAccess, claim, playerForm)
	}
	return caller{name: "player " + player, player: player}, nil
}

// keyInterval is the minimum time between two requests for the keys of an issuer, and the maximum time of one. Without it, each invalid
// token causes a request.
const keyInterval = 5 * time.Second

var errIssuer = wrong(http.StatusServiceUnavailable, "the keys of the JWT issuer cannot be read: try again later")

// keyRequests is the transport of the requests for the keys of an issuer. It sends at most one in each keyInterval, and otherwise returns
// the last result. Its errors wrap errIssuer.
type keyRequests struct {
	mu      sync.Mutex
	next    time.Time // no request before
	content []byte    // of the last reply
	err     error
}

// RoundTrip returns the keys.
func (k *keyRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); !now.Before(k.next) {
		k.next = now.Add(keyInterval)
		k.content, k.err = requestKeys(r)
	}
	if k.err != nil {
		return nil, fmt.Errorf("%w: %w", errIssuer, k.err)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.content))}, nil
}

// requestKeys sends a request for keys, and follows redirects.
func requestKeys(r *http.Request) ([]byte, error) {
	reply, err := (&http.Client{Timeout: keyInterval}).Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(io.LimitReader(reply.Body, maxKeys))
	if err == nil && (reply.StatusCode != http.StatusOK || !json.Valid(content)) {
		err = fmt.Errorf("the reply with the keys of the issuer is not valid: %s", reply.Status)
	}
	return content, err
}

// issuerAlgorithms are the signature algorithms that are accepted from an issuer. All are asymmetric.
var issuerAlgorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// issuerKeys is the key set for the verification of one token. It stores the error of the set, because the verifier does not wrap it.
type issuerKeys struct {
	oidc.KeySet
	err error
}

func (k *issuerKeys) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, k.err = k.KeySet.VerifySignature(ctx, token)
	return payload, k.err
}

// Issuer returns a function for Access.Verify. It accepts tokens of an OpenID Connect issuer for an audience, and finds the
// address of its keys in its discovery document. ctx bounds the request for that document only.
func Issuer(ctx context.Context, issuer, audience string) (func(context.Context, string) (map[string]any, error), error) {
	provider, err := oidc.NewProvider(ctx, issuer)
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err == nil {
		err = provider.Claims(&found)
	}
	if err != nil {
		return nil, fmt.Errorf("the issuer %.200q cannot be used: %w", issuer, err)
	}
	config := &oidc.Config{ClientID: audience, SupportedSigningAlgs: issuerAlgorithms}
	set := oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &http.Client{Transport: &keyRequests{}}), found.Keys)
	return func(ctx context.Context, token string) (claims map[string]any, err error) {
		keys := &issuerKeys{KeySet: set}
		checked, err := oidc.NewVerifier(issuer, keys, config).Verify(ctx, token)
		if errors.Is(keys.err, errIssuer) {
			return nil, errIssuer
		}
		if err != nil {
			return nil, err
		}
		return claims, checked.Claims(&claims)
	}, nil
}

// PublicKey returns a function for Access.Verify. It accepts tokens that are signed with the private part of a key in PEM: RSA,
// ECDSA P-256, P-384 and P-521, or Ed25519. Tokens must expire. issuer may be empty: it is then not checked.
func PublicKey(content []byte, issuer, audience string) (func(context.Context, string) (map[string]any, error), error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("the key for JWTs is not valid: give a file that begins with -----BEGIN PUBLIC KEY-----")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key for JWTs is not valid: %w", err)
	}
	methods, err := methodsOf(key)
	if err != nil {
		return nil, err
	}
	options := []jwt.ParserOption{jwt.WithValidMethods(methods), jwt.WithExpirationRequired(), jwt.WithAudience(audience), jwt.WithLeeway(5 * time.Second)}
	if issuer != "" {
		options = append(options, jwt.WithIssuer(issuer))
	}
	parser := jwt.NewParser(options...)
	return func(_ context.Context, token string) (map[string]any, error) {
		claims := jwt.MapClaims{}
		_, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return key, nil })
		return claims, err
	}, nil
}

// methodsOf returns the signature methods of a key. A token with another one is refused, also an unsigned one.
func methodsOf(key crypto.PublicKey) ([]string, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, nil
	case ed25519.PublicKey:
		return []string{"EdDSA"}, nil
	case *ecdsa.PublicKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return []string{"ES256"}, nil
		case 384:
			return []string{"ES384"}, nil
		case 521:
			return []string{"ES512"}, nil
		}
	}
	return nil, fmt.Errorf("the key for JWTs is a %T: give a key of RSA, ECDSA or Ed25519", key)
}
