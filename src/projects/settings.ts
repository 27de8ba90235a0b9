import {
  findProject,
  setPasskeyRpId,
  setAnonymousLogin as store,
  setAllowedOrigins as update,
} from '../../db/queries/projects.ts'
import { isRpIdFor } from '../auth/relying-party.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, noSuchProject } from '../errors.ts'
import { UUID } from '../http/text.ts'

type Switch = 'on' | 'off'

/** Allows or forbids anonymous login for a project. Existing anonymous users and their sessions stay. For operators. */
export const setAnonymousLogin = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly projectId: string; readonly anonymousLogin: Switch },
): Promise<void> => {
  const { projectId, anonymousLogin } = input
  await ctx.db.transaction(async (tx) => {
    const project = await findProject(tx, projectId)
    if (project === null) throw noSuchProject()
    await store(tx, { projectId, isOn: anonymousLogin === 'on' })
    const before: Switch = project.anonymousLogin ? 'on' : 'off'
    const details = { anonymous_login: anonymousLogin, before }
    const act = {
      projectId,
      actor: 'operator',
      action: 'anonymous_login_changed',
      subject: projectId,
      details,
    } as const
    await ctx.audit.record(tx, act)
  })
}

/** Whether a text is an origin as browsers send it: a scheme, a host and perhaps a port. */
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

/** Replaces the origins from which browsers may call for a project. For operators. */
export const setAllowedOrigins = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly projectId: string; readonly origins: readonly string[] },
): Promise<void> => {
  const { projectId, origins } = input
  if (!origins.every(isOrigin)) {
    throw new AppError('invalid_input', 'Each origin must be like https://app.example.com, without a path.')
  }
  if (!UUID.test(projectId)) throw noSuchProject()
  await ctx.db.transaction(async (tx) => {
    const project = await findProject(tx, projectId)
    if (project === null) throw noSuchProject()
    await update(tx, input)
    const details = { origins: origins.join(' '), before: project.allowedOrigins.join(' ') }
    await ctx.audit.record(tx, { projectId, actor: 'operator', action: 'origins_changed', subject: projectId, details })
  })
}

/**
 * Sets the domain of a project's new passkeys (WebAuthn's RP ID); null: the host of the calling page. Passkeys of another
 * domain stay stored, but work only if that domain is set again. For operators.
 */
export const setPasskeyDomain = async (
  ctx: Pick<WorkerCtx, 'db' | 'config' | 'audit'>,
  input: { readonly projectId: string; readonly rpId: string | null },
): Promise<void> => {
  const { projectId, rpId } = input
  const project = await findProject(ctx.db, projectId)
  if (project === null) throw noSuchProject()
  if (rpId !== null && !isRpIdFor(ctx, project, rpId)) {
    throw new AppError(
      'invalid_input',
      'The passkey domain must be the host of an allowed origin or a parent domain of it, in lower case, without a port, and not an IP address.',
    )
  }
  await ctx.db.transaction(async (tx) => {
    await setPasskeyRpId(tx, { projectId, rpId })
    const details = { domain: rpId ?? '', before: project.passkeyRpId ?? '' }
    const act = { projectId, actor: 'operator', action: 'passkey_domain_changed', subject: projectId, details } as const
    await ctx.audit.record(tx, act)
  })
}
