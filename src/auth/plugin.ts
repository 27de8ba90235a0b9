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

/** What is somebody's, or a token or number of a login, is kept by no cache; nor is a refusal. */
const KEPT_BY_NOBODY = 'no-store'

type Asking = { readonly request: Request; readonly set: { readonly headers: Record<string, string | number> } }

type AuthCtx = Pick<Ctx, 'db' | 'now' | 'log' | 'config' | 'tokens'>

const principalOf = (caller: Caller): string => (caller.kind === 'user' ? caller.userId : caller.apiKeyId)

/**
 * Gives every route behind it a `caller`, before the body is read: who may not come in learns nothing else.
 * One for all resources of a process: the rate limit is per API key or user, and process.
 * @param bytes what may come in bodies: of an API key; of a user, and of the address that they come from.
 */
export const authentication = (ctx: AuthCtx, bytes: Rate = byteRate(ctx.config)) => {
  const authenticate = createAuthenticate(ctx)
  const requests = requestRate(ctx.config)
  const admit = async ({ request, route, set }: Asking & { readonly route: string }): Promise<Caller> => {
    set.headers['cache-control'] = KEPT_BY_NOBODY
    const caller = { ...(await authenticate(request.headers)), address: addressOf(ctx.config, request) }
    await checkOrigin(ctx, { projectId: caller.projectId, origin: request.headers.get('origin') })
    await requests.spend(principalOf(caller), 1)
    requireScope(caller, { method: request.method, route })
    return caller
  }
  // Anybody may become a user where a project lets them: so their bytes count by their address too.
  const spendersOf = (caller: Caller): readonly string[] =>
    caller.kind === 'user' ? [caller.userId, subnetOf(caller.address)] : [caller.apiKeyId]
  // The framework parses before anything else, and parses only where there may be a body.
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

/** Who asks where nobody is logged in: a page or program of a project. */
export type Asked = { readonly projectId: string; readonly asker: Asker; readonly origin: string | null }

/**
 * For what needs no bearer: gives every route behind it `asked`, before the body is read. A bearer that is sent is ignored.
 */
export const projectDoor = (ctx: AuthCtx, bytes: Rate) => {
  const requests = requestRate(ctx.config)
  const admit = async ({ request, set }: Asking): Promise<Asked> => {
    set.headers['cache-control'] = KEPT_BY_NOBODY
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
