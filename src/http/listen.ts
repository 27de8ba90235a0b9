import type { Log } from '../log.ts'
import { answerOf } from './failure.ts'
import { notePeer } from './peer.ts'
import { dropUnread, endsWithBody } from './unread.ts'

const IDLE_TIMEOUT_SECONDS = 60
/** Bun answers a larger body by itself, with no text. So limits.ts has the limits, and unread.ts drops the rest. */
const NO_LIMIT_BYTES = Number.MAX_SAFE_INTEGER

/**
 * Listens on a port. The only place where the server is Bun's.
 * @param input.port 0 chooses a free one.
 */
export const listen = (input: {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly hostname: string
  readonly port: number
  readonly log: Log
}) =>
  Bun.serve({
    hostname: input.hostname,
    port: input.port,
    fetch: (request, server) => {
      notePeer(request, () => server.requestIP(request)?.address ?? null)
      const answer = input.fetch(request)
      if (!endsWithBody(request)) return answer
      return Promise.resolve(answer).finally(() => dropUnread(request))
    },
    maxRequestBodySize: NO_LIMIT_BYTES,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    // Bun's own page for a failure shows its source text, its stack and the folder.
    development: false,
    error: (error) => {
      input.log.error({ err: error }, 'failed outside of the app')
      const { status, body } = answerOf(error)
      return Response.json(body, { status })
    },
  })
