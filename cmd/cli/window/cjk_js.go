//go:build !headless

package window

import (
	"bytes"
	"compress/gzip"
	"syscall/js"
)

// addCJK loads the font beside the page, which is not part of the program. Its glyphs show when it has arrived. Without it, other
// glyphs show.
func (f *fonts) addCJK() error {
	received := js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := js.Global().Get("Uint8Array").New(args[0])
		content := make([]byte, data.Get("length").Int())
		js.CopyBytesToGo(content, data)
		if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) { // otherwise the server or the browser has unpacked it
			if font, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
				_ = f.add(font)
			}
			return nil
		}
		_ = f.add(bytes.NewReader(content))
		return nil
	})
	body := js.FuncOf(func(_ js.Value, args []js.Value) any { return args[0].Call("arrayBuffer") })
	ignore := js.FuncOf(func(js.Value, []js.Value) any { return nil })
	js.Global().Call("fetch", "font.ttf.gz").Call("then", body).Call("then", received).Call("catch", ignore)
	return nil
}
