import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { readJsonBody } from '../http/body.ts'
import { bodyLimitOf } from '../http/limits.ts'
import { type Asker, addressOf, askerOf, subnetOf } from '../http/peer.ts'
import { byteRate, type Rate, requestRate } from '../http/rate.ts'
import { createAuthenticate, readProjectHeader, requireProject } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { checkOrigin } from './origins.ts'
import { requireScope } from './scopes.ts'

/** Answers hold private data, tokens or codes, so no cache may keep them. This holds for refusals too. */
const NO_STORE = 'no-store'

type Incoming = { readonly request: Request; readonly set: { readonly headers: Record<string, string | number> } }

type AuthCtx = Pick<Ctx, 'db' | 'now' | 'log' | 'config' | 'tokens'>

const rateKeyOf = (caller: Caller): string => (caller.kind === 'user' ? caller.userId : caller.apiKeyId)

/**
 * Gives each route behind it a `caller`, before the body is read. A process needs exactly one: the rate limit counts per
 * API key or user and per process.
 * @param bytes how many body bytes an API key may send; for a user the limit also counts per address.
 */
export const authentication = (ctx: AuthCtx, bytes: Rate = byteRate(ctx.config)) => {
  const authenticate = createAuthenticate(ctx)
  const requests = requestRate(ctx.config)
  const admit = async ({ request, route, set }: Incoming & { readonly route: string }): Promise<Caller> => {
    set.headers['cache-control'] = NO_STORE
    const caller = { ...(await authenticate(request.headers)), address: addressOf(ctx.config, request) }
    await checkOrigin(ctx, { projectId: caller.projectId, origin: request.headers.get('origin') })
    await requests.spend(rateKeyOf(caller), 1)
    requireScope(caller, { method: request.method, route })
    return caller
  }
  // Where anonymous login is on, anybody can create users. So the bytes of users also count by their address.
  const spendersOf = (caller: Caller): readonly string[] =>
    caller.kind === 'user' ? [caller.userId, subnetOf(caller.address)] : [caller.apiKeyId]
  // The framework parses the body before its hooks run, but only if the request may have a body.
  return new Elysia({ name: 'authentication' })
    .decorate('caller', null as Caller | null)
    .onParse({ as: 'scoped' }, async (context) => {
      const { request, route, set } = context
      const caller = await admit({ request, route, set })
      context.caller = caller
      const spend = async (count: number) => {
        for (const spender of spendersOf(caller)) await bytes.spend(spender, count)
      }
      return (await readJsonBody(request, { maxBytes: bodyLimitOf(route), spend })) ?? {}
    })
    .derive({ as: 'scoped' }, async ({ caller, request, route, set }) => ({
      caller: caller ?? (await admit({ request, route, set })),
    }))
}

export type Authentication = ReturnType<typeof authentication>

/** A request without a login: the project, and the page or program that sent it. */
export type Asked = { readonly projectId: string; readonly asker: Asker; readonly origin: string | null }

/** Gives each route that needs no bearer token `asked`, before the body is read. It ignores a bearer token. */
export const projectDoor = (ctx: AuthCtx, bytes: Rate) => {
  const requests = requestRate(ctx.config)
  const admit = async ({ request, set }: Incoming): Promise<Asked> => {
    set.headers['cache-control'] = NO_STORE
    const asker = askerOf(ctx.config, request)
    await requests.spend(subnetOf(asker.address), 1)
    const { id: projectId } = await requireProject(ctx, readProjectHeader(request.headers))
    const origin = request.headers.get('origin')
    await checkOrigin(ctx, { projectId, origin })
    return { projectId, asker, origin }
  }
  return new Elysia({ name: 'project-door' })
    .decorate('asked', null as Asked | null)
    .onParse({ as: 'scoped' }, async (context) => {
      const { request, route, set } = context
      const asked = await admit({ request, set })
      context.asked = asked
      const spend = (count: number) => bytes.spend(subnetOf(asked.asker.address), count)
      return (await readJsonBody(request, { maxBytes: bodyLimitOf(route), spend })) ?? {}
    })
    .derive({ as: 'scoped' }, async ({ asked, request, set }) => ({
      asked: asked ?? (await admit({ request, set })),
    }))
}

export type ProjectDoor = ReturnType<typeof projectDoor>
