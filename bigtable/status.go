package bigtable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/widecol"
)

// codeOf are the codes of what a Store refuses. Clients send a request again after Unavailable.
var codeOf = map[widecol.Kind]codes.Code{
	widecol.Internal:   codes.Internal,
	widecol.Invalid:    codes.InvalidArgument,
	widecol.NotFound:   codes.NotFound,
	widecol.Exists:     codes.AlreadyExists,
	widecol.Conflict:   codes.FailedPrecondition,
	widecol.TooLarge:   codes.InvalidArgument,
	widecol.Overloaded: codes.Unavailable,
	widecol.DiskFull:   codes.ResourceExhausted,
	widecol.ReadOnly:   codes.FailedPrecondition,
	widecol.Unknown:    codes.Unavailable,
	widecol.Corrupt:    codes.DataLoss,
	widecol.Closed:     codes.Unavailable,
}

// statusOf turns an error of a Store, of admission or of a context into a status. nil stays nil, and a status what it is.
func statusOf(err error) error { return statusAt("", err) }

// statusAt is statusOf with the place in the request that the error is about.
func statusAt(place string, err error) error {
	if err == nil {
		return nil
	}
	var refused *admission.Refusal
	var over *quota.Refusal
	var full *quota.StorageRefusal
	var failed *widecol.Error
	switch {
	case errors.As(err, &refused):
		return retryLater(refused.Error(), refused.RetryAfter)
	case errors.As(err, &over):
		return retryLater(over.Error(), max(over.RetryAfter, time.Second))
	case errors.As(err, &full):
		return status.Error(codes.ResourceExhausted, full.Error())
	case errors.As(err, &failed):
		return statusOfStore(place, failed)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if s, ok := status.FromError(err); ok {
		p := s.Proto()
		p.Message = at(place, p.Message)
		return status.ErrorProto(p)
	}
	return status.Error(codes.Internal, at(place, err.Error()))
}

func statusOfStore(place string, err *widecol.Error) error {
	if err.Kind == widecol.Overloaded {
		return retryLater(err.Error(), time.Second)
	}
	message := err.Error() // begins with the place of a filter
	if err.Path == "" {
		message = at(place, message)
	}
	return status.Error(codeOf[err.Kind], message)
}

func at(place, message string) string {
	if place == "" {
		return message
	}
	return place + ": " + message
}

// retryLater says when a client should send its request again.
func retryLater(message string, after time.Duration) error {
	s, err := status.New(codes.Unavailable, message).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		return status.Error(codes.Unavailable, message)
	}
	return s.Err()
}

// invalid returns the status of a request that no table can serve.
func invalid(place, format string, args ...any) error {
	return status.Error(codes.InvalidArgument, at(place, fmt.Sprintf(format, args...)))
}
