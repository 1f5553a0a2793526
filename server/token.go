package server

import "net/http"

var tokenOperation = operation{
	does: "Tells who asks: the token of the request, and what it allows.",
	answer: answer{status: http.StatusOK, result: objectOf(schema{"token": orNull(objectOf(schema{
		"id": textSchema, "name": textSchema, "scope": oneOfTexts("read", "write", "admin"), "tables": listSchema(textSchema), "expires": orNull(countSchema),
	}))})},
}

// whoAsks is GET /v1/token.
func (s *Server) whoAsks(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	x.begin(http.StatusOK)
	if x.token == nil {
		x.out = append(x.out, `{"token":null}`...)
		return x.finish("This server has no access control")
	}
	x.out = appendString(append(x.out, `{"token":{"id":`...), x.token.ID)
	x.out = appendString(append(x.out, `,"name":`...), x.token.Name)
	x.out = appendString(append(x.out, `,"scope":`...), x.token.Scope.String())
	x.out = append(x.out, `,"tables":[`...)
	for i, pattern := range x.token.Tables {
		x.comma(i)
		x.out = appendString(x.out, pattern)
	}
	x.out = append(x.out, `],"expires":`...)
	if x.token.Expires.IsZero() {
		x.out = append(x.out, "null}}"...)
	} else {
		x.out = append(appendField(x.out, "", x.token.Expires.UnixMicro()), "}}"...)
	}
	return x.finish("The token is valid")
}
