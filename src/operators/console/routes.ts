import { randomUUID } from 'node:crypto'
import { type AnyElysia, Elysia } from 'elysia'
import { type Allowance, createAllowance } from '../../identity/auth/allowance.ts'
import { AppError } from '../../platform/errors.ts'
import { readFormBody } from '../../platform/http/body.ts'
import { describeError } from '../../platform/http/failure.ts'
import { addressOf, clientOf, subnetOf } from '../../platform/http/peer.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import { styleRoutes } from '../../platform/pages/routes.ts'
import { ACTIONS, askedPage, donePage, type Prepared } from './actions.ts'
import { consoleScript } from './client.generated.ts'
import type { ConsoleCtx } from './context.ts'
import { framed, type Room, type Shown } from './frame.ts'
import { addOperatorPasskey, linkPage, logInByLink, logInByPasskey, loginPage, problemPage } from './login.ts'
import { audit, auditCheck } from './rooms/audit.ts'
import { freezes } from './rooms/freezes.ts'
import { jobs } from './rooms/jobs.ts'
import { doctor, networks, nodes } from './rooms/networks.ts'
import { account, operators } from './rooms/operators.ts'
import { overview } from './rooms/overview.ts'
import { approvals, policies } from './rooms/policies.ts'
import { transaction, transactions } from './rooms/transactions.ts'
import { users, wallets } from './rooms/users-and-wallets.ts'
import { webhook, webhooks } from './rooms/webhooks.ts'
import {
  actorOf,
  endSession,
  requireOperator,
  requireOwnForm,
  requireOwnPage,
  type Session,
  secretIn,
  sessionOf,
} from './session.ts'

const ROOMS: Readonly<Record<string, Room>> = {
  '/': overview,
  '/transactions': transactions,
  '/jobs': jobs,
  '/wallets': wallets,
  '/users': users,
  '/policies': policies,
  '/approvals': approvals,
  '/webhooks': webhooks,
  '/freezes': freezes,
  '/audit': audit,
  '/audit/check': auditCheck,
  '/networks': networks,
  '/nodes': nodes,
  '/doctor': doctor,
  '/operators': operators,
  '/account': account,
}

const FORM_BYTES_MAX = 65_536

/** PostgreSQL takes this character in no text. @throws invalid_input */
const withoutNul = (fields: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  if (![...fields.values()].some((value) => value.includes('\0'))) return fields
  throw new AppError('invalid_input', 'No field may contain the character U+0000.')
}

const queryOf = (request: Request): ReadonlyMap<string, string> =>
  withoutNul(new Map(new URL(request.url).searchParams))

const pageOf = (text: string, status = 200): Response => new Response(text, { status, headers: PAGE_HEADERS })

const redirect = (to: string, cookie?: string): Response =>
  new Response(null, {
    status: 303,
    headers: { ...PAGE_HEADERS, location: to, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) },
  })

const formOf = async (request: Request): Promise<ReadonlyMap<string, string>> =>
  withoutNul(await readFormBody(request, { maxBytes: FORM_BYTES_MAX, spend: async () => {} }))

type ServedCtx = ConsoleCtx & { readonly allowance: Allowance }

/** Answers a request of an operator who is logged in; strangers get to the login. */
const inSession =
  (ctx: ServedCtx, answer: (session: Session, request: Request) => Promise<Response>) =>
  async ({ request }: { readonly request: Request }): Promise<Response> => {
    const session = await sessionOf(ctx, request)
    if (session === null) {
      ctx.allowance.refuse(request)
      return redirect('/login')
    }
    await ctx.allowance.accept(request)
    return answer(session, request)
  }

const shows = (session: Session, request: Request, shown: Shown): Response =>
  pageOf(framed(session, new URL(request.url).pathname, shown))

const roomRoutes = (ctx: ServedCtx) => {
  const routes = new Elysia()
  for (const [path, room] of Object.entries(ROOMS)) {
    routes.get(
      path,
      inSession(ctx, async (session, request) =>
        shows(session, request, await room(ctx, { session, query: queryOf(request) })),
      ),
    )
  }
  type Keyed = { readonly request: Request; readonly params: { readonly key: string } }
  const roomOfKey =
    (room: typeof transaction) =>
    ({ request, params: { key } }: Keyed) =>
      inSession(ctx, async (session) =>
        shows(session, request, await room(ctx, { session, query: queryOf(request) }, key)),
      )({ request })
  return routes
    .get(
      '/transactions/find',
      inSession(ctx, async (_session, request) =>
        redirect(`/transactions/${encodeURIComponent(queryOf(request).get('q')?.trim() ?? '')}`),
      ),
    )
    .get('/transactions/:key', roomOfKey(transaction))
    .get('/webhooks/:key', roomOfKey(webhook))
}

/** @throws not_found, and what the fields of the action throw. */
const preparedFor = (ctx: ConsoleCtx, name: string, fields: ReadonlyMap<string, string>): Prepared => {
  const prepare = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (prepare === undefined) throw new AppError('not_found', 'There is no such action.')
  return prepare(fields, ctx)
}

const actionRoutes = (ctx: ServedCtx) =>
  new Elysia()
    .get('/do/:name', ({ request, params: { name } }) =>
      inSession(ctx, async (session) => {
        requireOperator(session)
        return shows(session, request, askedPage(session, name, preparedFor(ctx, name, queryOf(request))))
      })({ request }),
    )
    .post('/do/:name', ({ request, params: { name } }) =>
      inSession(ctx, async (session) => {
        requireOwnPage(ctx, request.headers)
        const fields = await formOf(request)
        requireOwnForm(session, fields)
        requireOperator(session)
        const prepared = preparedFor(ctx, name, fields)
        const act = { actor: actorOf(session.operator), reason: fields.get('reason') ?? '' }
        return shows(session, request, donePage(prepared, await prepared.run(ctx, act)))
      })({ request }),
    )

const loginRoutes = (ctx: ServedCtx) =>
  new Elysia()
    .get('/login', async ({ request }) =>
      (await sessionOf(ctx, request)) === null ? pageOf(loginPage(ctx)) : redirect('/'),
    )
    .post('/login', async ({ request }) => {
      requireOwnPage(ctx, request.headers)
      const answer = (await formOf(request)).get('answer') ?? ''
      return redirect('/', await logInByPasskey(ctx, { client: clientOf(ctx.config, request), answer }))
    })
    .get('/link', ({ request }) => pageOf(linkPage(queryOf(request).get('secret') ?? '')))
    .post('/link', async ({ request }) => {
      requireOwnPage(ctx, request.headers)
      const secret = (await formOf(request)).get('secret') ?? ''
      return redirect('/', await logInByLink(ctx, { client: clientOf(ctx.config, request), secret }))
    })
    .post(
      '/logout',
      inSession(ctx, async (session, request) => {
        requireOwnPage(ctx, request.headers)
        requireOwnForm(session, await formOf(request))
        return redirect('/login', await endSession(ctx, session))
      }),
    )
    .post(
      '/account/passkey',
      inSession(ctx, async (session, request) => {
        requireOwnPage(ctx, request.headers)
        const fields = await formOf(request)
        requireOwnForm(session, fields)
        await addOperatorPasskey(ctx, session, fields.get('answer') ?? '')
        return redirect('/account')
      }),
    )

/** The console; it does not listen. Each failure is a page. */
export const consoleRoutes = (given: ConsoleCtx): AnyElysia => {
  const ctx = { ...given, allowance: createAllowance(given.config, { tokenIn: secretIn }) }
  return (
    new Elysia({ normalize: false, handler: { standardHostname: false } })
      .onRequest(async ({ request, set }) => {
        set.headers['x-request-id'] = randomUUID()
        await ctx.allowance.spend(request)
      })
      // Forms are read where their sender is known.
      .onParse(() => null)
      .onError({ as: 'global' }, ({ error, code, request, set }) => {
        const { status, body, event, unexpected, retryAfterSeconds } = describeError(
          code === 'NOT_FOUND' ? new AppError('not_found', 'There is no such page.') : error,
        )
        if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
        if (unexpected) {
          const { pathname: path } = new URL(request.url)
          ctx.log.error({ err: error, path, requestId: set.headers['x-request-id'] }, 'failed')
        }
        const sentence = 'error' in body ? body.error : 'This did not work.'
        const page = pageOf(problemPage(sentence), status)
        if (retryAfterSeconds !== null) page.headers.set('retry-after', String(retryAfterSeconds))
        return page
      })
      .get('/healthz', () => Response.json({ status: 'ok' }))
      .get(
        '/console.js',
        () =>
          new Response(consoleScript, {
            headers: {
              'content-type': 'text/javascript; charset=utf-8',
              'cache-control': 'no-cache',
              'x-content-type-options': 'nosniff',
            },
          }),
      )
      .use(styleRoutes('style.css', 'console.css'))
      .use(loginRoutes(ctx))
      .use(roomRoutes(ctx))
      .use(actionRoutes(ctx))
  )
}
