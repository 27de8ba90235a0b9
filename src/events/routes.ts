import type { Static } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { HasDb } from '../../db/client.ts'
import { keyCheck } from '../identity/auth/api-key-check.ts'
import { type Caller, requireApiKey } from '../identity/auth/caller.ts'
import type { Authentication } from '../identity/auth/plugin.ts'
import type { HasSecurityEvents } from '../identity/security-events.ts'
import type { HasClock } from '../platform/clock.ts'
import type { HasConfig } from '../platform/config.ts'
import { AppError } from '../platform/errors.ts'
import { noteWaiting } from '../platform/http/gate.ts'
import { describedAs } from '../platform/http/schema.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { HasIdentity } from '../platform/sealing/sealer.ts'
import { EventList, eventsAskedBy, ListEventsQuery } from './schema.ts'
import { shownEvents } from './shown.ts'
import { STREAM_HEADERS, streamEvents } from './stream.ts'
import { createBell, createReaders, waitForEvents } from './wait.ts'

const { detail } = describedAs('Events')

const NUMBER = /^(?:0|[1-9][0-9]{0,17})$/

/** Where a client wants to continue that was connected before. */
const lastEventId = (request: Request): bigint | null => {
  const text = request.headers.get('last-event-id')
  if (text === null || text === '') return null
  if (NUMBER.test(text)) return BigInt(text)
  throw new AppError('invalid_input', 'The header Last-Event-ID must be the id of an event.')
}

type Asking = {
  readonly query: Static<typeof ListEventsQuery>
  readonly caller: Caller
  readonly request: Request
}

const wantsStream = (request: Request): boolean => request.headers.get('accept')?.includes('text/event-stream') ?? false

/** @param input.stopping aborted when the process is about to end: callers that wait are answered then. */
export const eventRoutes = (
  base: HasDb & HasLog & HasConfig & HasIdentity & HasClock & HasSecurityEvents,
  authentication: Authentication,
  { stopping = new AbortController().signal }: { readonly stopping?: AbortSignal },
) => {
  const readers = createReaders()
  const ctx = { ...base, bell: createBell(base) }

  const askedBy = ({ query, caller, request }: Asking) => {
    requireApiKey(caller)
    const signal = AbortSignal.any([request.signal, stopping])
    const isAllowed = keyCheck(base, request.headers)
    return { projectId: caller.projectId, ...eventsAskedBy(query), signal, isAllowed }
  }

  const stream = async (asked: ReturnType<typeof askedBy> & Pick<Asking, 'request'>): Promise<Response> => {
    const after = lastEventId(asked.request) ?? asked.after
    // Otherwise the runtime reads the whole stream to know its length.
    if (asked.request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
    const leave = readers.enter(asked.projectId)
    try {
      return await streamEvents(ctx, { ...asked, after, ended: leave })
    } catch (error) {
      leave()
      throw error
    }
  }

  const list = async ({
    request,
    ...asked
  }: ReturnType<typeof askedBy> & Pick<Asking, 'request'>): Promise<EventList> => {
    if (asked.waitMs > 0) noteWaiting(request)
    const leave = asked.waitMs === 0 ? () => {} : readers.enter(asked.projectId)
    try {
      const { rows, next } = await waitForEvents(ctx, asked)
      if (asked.waitMs > 0 && !(await asked.isAllowed()))
        throw new AppError('unauthorized', 'The API key has expired or was revoked while the request waited.')
      return { events: [...(await shownEvents(ctx, rows))], next: next.toString() }
    } finally {
      leave()
    }
  }

  return (
    new Elysia({ prefix: '/events', normalize: false })
      .use(authentication)
      .onBeforeHandle(({ query, caller, request }) =>
        wantsStream(request) ? stream({ ...askedBy({ query, caller, request }), request }) : undefined,
      )
      // The same for clients that cannot set the header.
      .get('/stream', ({ query, caller, request }) => stream({ ...askedBy({ query, caller, request }), request }), {
        query: ListEventsQuery,
        detail: { hide: true },
      })
      .get('', ({ query, caller, request }) => list({ ...askedBy({ query, caller, request }), request }), {
        query: ListEventsQuery,
        response: { 200: EventList },
        ...detail(
          'List events',
          'What happened in the project, in an order that never changes: ask with `after`, the `next` of the last answer, and miss nothing. For API keys only. With `wait` the answer comes with the next event. With the header `Accept: text/event-stream` the same events come as Server-Sent Events, and `Last-Event-ID` stands for `after`. Events are kept for 30 days, unless the operator says otherwise; `events_gone` if `after` is older.',
          ['events_gone'],
        ),
      })
  )
}
