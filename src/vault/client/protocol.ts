// The messages of both sides. Each begins with a hello. After it:
//
//   client   [id, method, input]       id: a number that is not under way, or 0 if no answer is wanted
//   server   [id, 0, output]           done
//            [id, 1, failure]          not done, as far as the failure says so
//            [id, 2, progress]         on the way; an answer follows
//            [0, 3, 'alive']           twice a second: a server that says nothing any more is lost
//            [0, 3, 'leaving']         the server is about to end: what runs ends, new work goes elsewhere. The client ends the
//                                      connection when nothing of it is left
//
// A client whose hello asks for `timings` gets them behind the body of an answer: the whole, then its parts.
//
// Anything else ends the connection.

import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'

export const PROTOCOL = 1

export const DONE = 0
export const FAILED = 1
export const PROGRESS = 2
export const NOTICE = 3
export const ALIVE = 'alive'
export const LEAVING = 'leaving'

export const ALIVE_EVERY_MS = 500
/**
 * Both sides wait so long for the other one's hello: no heartbeat follows, and a machine under load may be slow at a
 * start.
 */
export const HELLO_WAIT_MS = 5_000

const Id = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Name = Type.String({ minLength: 1, maxLength: 64 })
const Kind = Type.Integer({ minimum: DONE, maximum: NOTICE })
const Milliseconds = Type.Number({ minimum: 0 })
const Timings = Type.Array(
  Type.Object({ name: Name, beganMs: Milliseconds, tookMs: Milliseconds }, { additionalProperties: false }),
  { maxItems: 32 },
)

export const isHello = TypeCompiler.Compile(
  Type.Object(
    { protocol: Type.Integer(), name: Name, timings: Type.Optional(Type.Literal(true)) },
    { additionalProperties: false },
  ),
)
export const isRequest = TypeCompiler.Compile(Type.Tuple([Id, Name, Type.Unknown()]))
export const isAnswer = TypeCompiler.Compile(
  Type.Union([Type.Tuple([Id, Kind, Type.Unknown()]), Type.Tuple([Id, Kind, Type.Unknown(), Timings])]),
)
