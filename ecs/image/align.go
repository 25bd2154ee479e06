package image

import (
	"fmt"
	"reflect"
	"unsafe"
)

// nativeAlign is the alignment of values of 8 bytes on this target: 8 on 64-bit targets and WebAssembly, 4 on 386, arm and
// mips. Targets lay out structs alike otherwise.
const nativeAlign = unsafe.Alignof(struct{ v uint64 }{}.v)

// alignOf returns the alignment of a plain type on targets that align values of 8 bytes to most.
func alignOf(t reflect.Type, most uintptr) (align uintptr) {
	switch t.Kind() {
	case reflect.Array:
		return alignOf(t.Elem(), most)
	case reflect.Struct:
		align = 1
		for i := range t.NumField() {
			align = max(align, alignOf(t.Field(i).Type, most))
		}
		return align
	}
	return min(t.Size(), most)
}

func alignUp(n, to uintptr) uintptr { return (n + to - 1) / to * to }

// misplacedIn returns the path and the problem of the first part of t that has another offset or size on the other targets,
// "" if there is none. at is the offset of t itself.
func misplacedIn(t reflect.Type, path string, at uintptr) (field, problem string) {
	if t.Kind() == reflect.Array && t.Len() > 0 {
		return misplacedIn(t.Elem(), path+"[0]", at)
	}
	if t.Kind() != reflect.Struct {
		return "", ""
	}
	end, last := uintptr(0), uintptr(1)
	for i := range t.NumField() {
		f := t.Field(i)
		at64, at32 := alignUp(end, alignOf(f.Type, 8)), alignUp(end, alignOf(f.Type, 4))
		part := joinPath(path, f.Name)
		if at64 != at32 {
			return part, fmt.Sprintf("lies at byte %d on 64-bit targets and at %d on 32-bit ones; put a `_ uint32` before it", at+at64, at+at32)
		}
		if field, problem = misplacedIn(f.Type, part, at+at64); problem != "" {
			return field, problem
		}
		last = f.Type.Size()
		end = at64 + last
	}
	if last == 0 && end > 0 { // so that a pointer to the last field does not point behind the struct
		end++
	}
	if size64, size32 := alignUp(end, alignOf(t, 8)), alignUp(end, alignOf(t, 4)); size64 != size32 {
		return path, fmt.Sprintf("is %d bytes on 64-bit targets and %d on 32-bit ones; put a `_ uint32` at its end", size64, size32)
	}
	return "", ""
}
