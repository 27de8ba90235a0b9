import { lockProject, type ProjectSettings, setProjectSettings } from '../../db/queries/projects.ts'
import { isRpIdFor } from '../auth/relying-party.ts'
import { projectMac } from '../auth/row-macs.ts'
import type { Ctx } from '../context.ts'
import type { AuditAct } from '../custody/vault.ts'
import { AppError, noSuchProject } from '../errors.ts'
import { UUID } from '../http/text.ts'

type Switch = 'on' | 'off'

type ChangeCtx = Pick<Ctx, 'db' | 'audit' | 'identity'>

type Change = {
  readonly projectId: string
  readonly action: 'anonymous_login_changed' | 'origins_changed' | 'passkey_domain_changed'
  /** @returns the changed settings, and the details for the audit. */
  readonly change: (before: ProjectSettings) => {
    readonly now: Partial<ProjectSettings>
    readonly details: AuditAct['details']
  }
}

/** A change would give forged settings a valid MAC. */
const settingsForged = (): AppError =>
  new AppError(
    'invalid_input',
    'The settings of this project were changed in the database: restore the allowed origins, the passkey domain and the anonymous login from the audit, then repeat the command.',
  )

const changeSetting = async (ctx: ChangeCtx, { projectId, action, change }: Change): Promise<void> => {
  if (!UUID.test(projectId)) throw noSuchProject()
  const mac = projectMac(ctx.identity)
  await ctx.db.transaction(async (tx) => {
    const before = await lockProject(tx, projectId)
    if (before === null) throw noSuchProject()
    if (!mac.holds(before)) throw settingsForged()
    const { now, details } = change(before)
    const settings = { ...before, ...now }
    await setProjectSettings(tx, { ...settings, mac: mac.of(settings) })
    await ctx.audit.record(tx, { projectId, actor: 'operator', action, subject: projectId, details })
  })
}

/** Allows or forbids anonymous login for a project. Existing anonymous users and their sessions stay. For operators. */
export const setAnonymousLogin = (
  ctx: ChangeCtx,
  { projectId, anonymousLogin }: { readonly projectId: string; readonly anonymousLogin: Switch },
): Promise<void> =>
  changeSetting(ctx, {
    projectId,
    action: 'anonymous_login_changed',
    change: (before) => ({
      now: { anonymousLogin: anonymousLogin === 'on' },
      details: { anonymous_login: anonymousLogin, before: before.anonymousLogin ? 'on' : 'off' },
    }),
  })

/** Whether a text is an origin as browsers send it: a scheme, a host and perhaps a port. */
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

type SettingsCtx = ChangeCtx & Pick<Ctx, 'config'>
type Origins = { readonly projectId: string; readonly origins: readonly string[] }

/** On mainnet, tokens and PINs must not pass through a page that others on the way can change. */
const isSafe = ({ config }: Pick<Ctx, 'config'>, origin: string): boolean =>
  config.environment !== 'mainnet' || origin.startsWith('https://')

const requireOrigins = (ctx: SettingsCtx, origins: readonly string[]): void => {
  if (!origins.every(isOrigin)) {
    throw new AppError('invalid_input', 'Each origin must be like https://app.example.com, without a path.')
  }
  if (!origins.every((origin) => isSafe(ctx, origin))) {
    throw new AppError('invalid_input', 'On mainnet each origin must begin with https://.')
  }
}

/** @returns the origins that are allowed now. */
const changeOrigins = async (
  ctx: SettingsCtx,
  { projectId, change }: { readonly projectId: string; readonly change: (before: readonly string[]) => string[] },
): Promise<readonly string[]> => {
  let origins: readonly string[] = []
  await changeSetting(ctx, {
    projectId,
    action: 'origins_changed',
    change: ({ allowedOrigins: before }) => {
      const allowedOrigins = change(before)
      origins = allowedOrigins
      return { now: { allowedOrigins }, details: { origins: origins.join(' '), before: before.join(' ') } }
    },
  })
  return origins
}

/** Allows browsers to call for a project from further origins. For operators. @returns all that are allowed now. */
export const addOrigins = async (ctx: SettingsCtx, { projectId, origins }: Origins): Promise<readonly string[]> => {
  requireOrigins(ctx, origins)
  return changeOrigins(ctx, { projectId, change: (before) => [...new Set([...before, ...origins])] })
}

/** The opposite. @throws invalid_input for an origin that is not allowed. @returns those that are still allowed. */
export const removeOrigins = (ctx: SettingsCtx, { projectId, origins }: Origins): Promise<readonly string[]> =>
  changeOrigins(ctx, {
    projectId,
    change: (before) => {
      const unknown = origins.filter((origin) => !before.includes(origin))
      if (unknown.length > 0) {
        throw new AppError('invalid_input', `The project does not allow ${unknown.join(', ')}: nothing was changed.`)
      }
      return before.filter((origin) => !origins.includes(origin))
    },
  })

/**
 * Sets the domain of a project's new passkeys (WebAuthn's RP ID); null: the host of the calling page. Passkeys of another
 * domain stay stored, but work only if that domain is set again. For operators.
 */
export const setPasskeyDomain = (
  ctx: SettingsCtx,
  { projectId, rpId }: { readonly projectId: string; readonly rpId: string | null },
): Promise<void> =>
  changeSetting(ctx, {
    projectId,
    action: 'passkey_domain_changed',
    change: (before) => {
      const allowedOrigins = before.allowedOrigins.filter((origin) => isSafe(ctx, origin))
      if (rpId !== null && !isRpIdFor(ctx, { allowedOrigins }, rpId)) {
        throw new AppError(
          'invalid_input',
          'The passkey domain must be the host of an allowed origin or a parent domain of it, in lower case, without a port, and not an IP address.',
        )
      }
      return { now: { passkeyRpId: rpId }, details: { domain: rpId ?? '', before: before.passkeyRpId ?? '' } }
    },
  })
