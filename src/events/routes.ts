import type { Static } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { keyCheck } from '../identity/auth/api-key.ts'
import { type Caller, requireApiKey } from '../identity/auth/caller.ts'
import type { Authentication } from '../identity/auth/plugin.ts'
import { AppError } from '../platform/errors.ts'
import { noteWaiting } from '../platform/http/gate.ts'
import { describedAs } from '../platform/http/schema.ts'
import type { SigningCtx } from '../signing/ctx.ts'
import { invalidInput } from '../signing/schema.ts'
import { EventList, ListEventsQuery, parseEventsQuery } from './schema.ts'
import { shownEvents } from './shown.ts'
import { STREAM_HEADERS, streamEvents } from './stream.ts'
import { createReaders, createWaiters, waitForEvents } from './wait.ts'

const { detail } = describedAs('Events')

const NUMBER = /^(?:0|[1-9][0-9]{0,17})$/

/** Where a client wants to continue that was connected before. */
const lastEventId = (request: Request): bigint | null => {
  const text = request.headers.get('last-event-id')
  if (text === null || text === '') return null
  if (NUMBER.test(text)) return BigInt(text)
  throw invalidInput('The header Last-Event-ID must be the id of an event.')
}

type Asking = {
  readonly query: Static<typeof ListEventsQuery>
  readonly caller: Caller
  readonly request: Request
}

const wantsStream = (request: Request): boolean => request.headers.get('accept')?.includes('text/event-stream') ?? false

/** @param input.stopping aborted when the process is about to end: callers that wait are answered then. */
export const eventRoutes = (
  base: SigningCtx,
  authentication: Authentication,
  { stopping = new AbortController().signal }: { readonly stopping?: AbortSignal },
) => {
  const readers = createReaders()
  const ctx = { ...base, waiters: createWaiters(base) }

  const readQuery = ({ query, caller, request }: Asking) => {
    requireApiKey(caller)
    const signal = AbortSignal.any([request.signal, stopping])
    const isAllowed = keyCheck(base, request.headers)
    return { request, projectId: caller.projectId, ...parseEventsQuery(query), signal, isAllowed }
  }

  const stream = async (input: ReturnType<typeof readQuery>): Promise<Response> => {
    const after = lastEventId(input.request) ?? input.after
    // Otherwise the runtime reads the whole stream to know its length.
    if (input.request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
    const leave = readers.enter(input.projectId)
    try {
      return await streamEvents(ctx, { ...input, after, ended: leave })
    } catch (error) {
      leave()
      throw error
    }
  }

  const list = async (input: ReturnType<typeof readQuery>): Promise<EventList> => {
    if (input.waitMs > 0) noteWaiting(input.request)
    const leave = input.waitMs === 0 ? () => {} : readers.enter(input.projectId)
    try {
      const { rows, next } = await waitForEvents(ctx, input)
      if (input.waitMs > 0 && !(await input.isAllowed()))
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
        wantsStream(request) ? stream(readQuery({ query, caller, request })) : undefined,
      )
      // The same for clients that cannot set the header.
      .get('/stream', ({ query, caller, request }) => stream(readQuery({ query, caller, request })), {
        query: ListEventsQuery,
        detail: { hide: true },
      })
      .get('', ({ query, caller, request }) => list(readQuery({ query, caller, request })), {
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
