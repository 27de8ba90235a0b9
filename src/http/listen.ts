import { type Server, serve } from '../runtime.ts'
import type { Log } from '../security/log.ts'
import { answerOf } from './failure.ts'
import { notePeer } from './peer.ts'
import { dropUnread, endsWithBody } from './unread.ts'

/**
 * Listens on a port.
 * @param input.port 0 chooses a free port.
 */
export const listen = (input: {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly hostname: string
  readonly port: number
  readonly log: Log
}): Server =>
  serve({
    hostname: input.hostname,
    port: input.port,
    fetch: (request, address) => {
      notePeer(request, address)
      const answer = input.fetch(request)
      if (!endsWithBody(request)) return answer
      return Promise.resolve(answer).finally(() => dropUnread(request))
    },
    error: (error) => {
      input.log.error({ err: error }, 'a request failed outside of the app')
      const { status, body } = answerOf(error)
      return Response.json(body, { status })
    },
  })
