package server

// components are the schemas that the document has by name, in components/schemas: those that are in several places,
// and those that contain themselves. They are all there when variables are initialized.
var components = map[string]schema{}

// named names a schema and returns a reference to it.
func named(name string, s schema) schema {
	components[name] = s
	return reference(name)
}

func reference(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }
