import { Elysia } from 'elysia'
import type { Project } from '../../../db/queries/projects.ts'
import { bodyLimitOf, FILE_BODIES, readFileBody, readJsonBody } from '../../platform/http/body.ts'
import { type Client, clientOf, subnetOf } from '../../platform/http/peer.ts'
import { byteRate, type Rate, requestRate } from '../../platform/http/rate.ts'
import type { HasRequests } from '../../platform/tracing/requests.ts'
import { type Allowance, createAllowance } from './allowance.ts'
import { type AuthenticateCtx, createAuthenticate, requireProject } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { readProjectHeader } from './caller-headers.ts'
import { checkOrigin } from './origins.ts'
import { requireScope } from './scopes.ts'

type Incoming = { readonly request: Request; readonly route: string }

/** Gives each route behind it a `caller`, before the body is read. */
export const admission = <Who extends { readonly projectId: string }>(input: {
  readonly name: string
  readonly admit: (incoming: Incoming) => Promise<Who>
  readonly bytes: Rate
  readonly requests: HasRequests['requests']
  readonly spendersOf: (caller: Who) => readonly string[]
}) => {
  const admit = async ({ request, route }: Incoming): Promise<Who> => {
    const caller = await input.admit({ request, route })
    input.requests.note(request, { route, projectId: caller.projectId })
    return caller
  }
  // The framework parses the body before its hooks run, but only if the request may have a body.
  return new Elysia({ name: input.name })
    .decorate('caller', null as Who | null)
    .onParse({ as: 'scoped' }, async (context) => {
      const { request, route } = context
      const caller = await admit(context)
      context.caller = caller
      const spend = async (count: number) => {
        for (const spender of input.spendersOf(caller)) await input.bytes.spend(spender, count)
      }
      const bounds = { maxBytes: bodyLimitOf(route), spend }
      return FILE_BODIES.has(route) ? readFileBody(request, bounds) : ((await readJsonBody(request, bounds)) ?? {})
    })
    .derive({ as: 'scoped' }, async (context) => ({ caller: context.caller ?? (await admit(context)) }))
}

type AuthCtx = AuthenticateCtx & HasRequests

const rateKeyOf = (caller: Caller): string => (caller.kind === 'user' ? caller.userId : caller.apiKeyId)

/**
 * A process needs exactly one: it counts the requests of each API key or user.
 * @param bytes how many body bytes an API key may send; for a user the limit also counts per address.
 * @param allowance from which each request has spent before it gets here.
 */
export const authentication = (
  ctx: AuthCtx,
  bytes: Rate = byteRate(ctx.config),
  allowance: Allowance = createAllowance(ctx.config),
) => {
  const authenticate = createAuthenticate(ctx)
  const requests = requestRate(ctx.config)
  return admission<Caller>({
    requests: ctx.requests,
    name: 'authentication',
    admit: async ({ request, route }) => {
      const caller = await authenticate(request)
      const origin = request.headers.get('origin')
      if (origin !== null) checkOrigin(ctx, { project: await requireProject(ctx, caller.projectId), origin })
      await requests.spend(rateKeyOf(caller), 1)
      await allowance.accept(request)
      requireScope(caller, { method: request.method, route })
      return caller
    },
    bytes,
    // Where anonymous login is on, a stranger can create users. So the bytes of users also count by their address.
    spendersOf: (caller) => (caller.kind === 'user' ? [caller.userId, subnetOf(caller.address)] : [caller.apiKeyId]),
  })
}

export type Authentication = ReturnType<typeof authentication>

/** The caller of a route that needs no bearer token. */
export type Visitor = {
  readonly projectId: string
  readonly project: Project
  readonly client: Client
  /** The page that called, if a browser sent the request. */
  readonly origin: string | null
}

/** Admits visitors. It ignores a bearer token, so their address pays here, also if a token has paid before. */
export const visitorAdmission = (ctx: AuthCtx, bytes: Rate) => {
  const requests = requestRate(ctx.config)
  return admission<Visitor>({
    requests: ctx.requests,
    name: 'visitors',
    admit: async ({ request }) => {
      const client = clientOf(ctx.config, request)
      await requests.spend(subnetOf(client.address), 1)
      const project = await requireProject(ctx, readProjectHeader(request.headers))
      const origin = request.headers.get('origin')
      checkOrigin(ctx, { project, origin })
      return { projectId: project.id, project, client, origin }
    },
    bytes,
    spendersOf: ({ client }) => [subnetOf(client.address)],
  })
}

export type VisitorAdmission = ReturnType<typeof visitorAdmission>
