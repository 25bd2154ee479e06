//go:build !headless && !js

package window

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
)

// cjk is Droid Sans Fallback by Google, under the Apache licence 2.0: Chinese, Japanese and Korean.
//
//go:embed font/DroidSansFallback.ttf.gz
var cjk []byte

func (f *fonts) addCJK() error {
	font, err := gzip.NewReader(bytes.NewReader(cjk))
	if err != nil {
		return fmt.Errorf("window: font: %w", err)
	}
	return f.add(font)
}
