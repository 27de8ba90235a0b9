import { type Server, serve } from '../environment/runtime.ts'
import type { Log } from '../process/log.ts'
import { dropUnread, endsWithBody, hasBody } from './body.ts'
import { describeError } from './failure.ts'
import { notePeer } from './peer.ts'

/** A client that reads this sends its next request on another connection, so none arrives as this one is closed. */
const closing = (answer: Response): Response => {
  const headers = new Headers(answer.headers)
  headers.set('connection', 'close')
  return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers })
}

/** @param input.port 0 chooses a free port. @param input.stopping once aborted, each answer ends its connection. */
export const listen = (input: {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly hostname: string
  readonly port: number
  readonly log: Log
  readonly stopping?: AbortSignal
}): Server =>
  serve({
    hostname: input.hostname,
    port: input.port,
    fetch: async (request, address) => {
      notePeer(request, address)
      try {
        const answer = await input.fetch(request)
        return input.stopping?.aborted ? closing(answer) : answer
      } finally {
        if (endsWithBody(request) || (input.stopping?.aborted && hasBody(request))) await dropUnread(request)
      }
    },
    error: (error) => {
      input.log.error({ err: error }, 'a request failed outside of the app')
      const { status, body } = describeError(error)
      return Response.json(body, { status })
    },
  })
