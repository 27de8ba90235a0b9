import type { HasDb } from '../../../db/client.ts'
import { lockProject, type ProjectSettings, setProjectSettings } from '../../../db/queries/projects.ts'
import type { AuditAct, HasAudit } from '../../platform/audit/audit.ts'
import type { HasConfig } from '../../platform/config.ts'
import { type AppError, invalidInput, noSuchProject } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { isAndroidApp } from '../auth/origins.ts'
import { isRpIdFor } from '../auth/relying-party.ts'
import { isReturnAddress, RETURN_ADDRESSES_MAX } from '../auth/return-addresses.ts'
import { projectMac } from '../auth/row-macs.ts'

type Switch = 'on' | 'off'

type ChangeCtx = HasDb & HasAudit & HasIdentity

type Change = {
  readonly projectId: string
  readonly action: 'anonymous_login_changed' | 'origins_changed' | 'passkey_domain_changed' | 'return_addresses_changed'
  readonly change: (before: ProjectSettings) => {
    readonly now: Partial<ProjectSettings>
    readonly details: AuditAct['details']
  }
}

/** A change would give forged settings a valid MAC. */
const settingsForged = (): AppError =>
  invalidInput(
    'The settings of this project were changed in the database: restore the allowed origins, the return addresses, the passkey domain and the anonymous login from the audit, then repeat the command.',
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

/** A scheme, a host and perhaps a port, as browsers send an origin; or the origin of an app on Android. */
const isOrigin = (text: string): boolean => isAndroidApp(text) || (URL.canParse(text) && new URL(text).origin === text)

type SettingsCtx = ChangeCtx & HasConfig
type Origins = { readonly projectId: string; readonly origins: readonly string[] }

/** On mainnet, tokens and PINs must not pass through a page that an attacker on the way can change. */
const isSafe = ({ config }: HasConfig, origin: string): boolean =>
  config.environment !== 'mainnet' || origin.startsWith('https://') || isAndroidApp(origin)

const requireOrigins = (ctx: SettingsCtx, origins: readonly string[]): void => {
  if (!origins.every(isOrigin)) {
    throw invalidInput(
      'Each origin must be like https://app.example.com, without a path, or like android:apk-key-hash:… with the SHA-256 of the certificate of an app in base64url.',
    )
  }
  if (!origins.every((origin) => isSafe(ctx, origin))) {
    throw invalidInput('On mainnet each origin must begin with https://.')
  }
}

/** The settings of a list that remain. @throws invalid_input for one that is not there. */
const without = (before: readonly string[], removed: readonly string[]): string[] => {
  const unknown = removed.filter((each) => !before.includes(each))
  if (unknown.length > 0) {
    throw invalidInput(`The project does not allow ${unknown.join(', ')}: nothing was changed.`)
  }
  return before.filter((each) => !removed.includes(each))
}

const LISTS = {
  allowedOrigins: { action: 'origins_changed', word: 'origins' },
  returnAddresses: { action: 'return_addresses_changed', word: 'addresses' },
} as const

type ListChange = {
  readonly projectId: string
  readonly list: keyof typeof LISTS
  readonly change: (before: readonly string[]) => string[]
}

const changeList = async (ctx: ChangeCtx, { projectId, list, change }: ListChange): Promise<readonly string[]> => {
  const { action, word } = LISTS[list]
  let after: string[] = []
  await changeSetting(ctx, {
    projectId,
    action,
    change: (settings) => {
      const before = settings[list]
      after = change(before)
      return { now: { ...settings, [list]: after }, details: { [word]: after.join(' '), before: before.join(' ') } }
    },
  })
  return after
}

/** Allows browsers to call for a project from further origins. For operators. @returns all that are allowed now. */
export const addOrigins = async (ctx: SettingsCtx, { projectId, origins }: Origins): Promise<readonly string[]> => {
  requireOrigins(ctx, origins)
  const change = (before: readonly string[]) => [...new Set([...before, ...origins])]
  return changeList(ctx, { projectId, list: 'allowedOrigins', change })
}

/** The opposite. @throws invalid_input for an origin that is not allowed. @returns those that are still allowed. */
export const removeOrigins = (ctx: SettingsCtx, { projectId, origins }: Origins): Promise<readonly string[]> =>
  changeList(ctx, { projectId, list: 'allowedOrigins', change: (before) => without(before, origins) })

type Addresses = { readonly projectId: string; readonly addresses: readonly string[] }

/** Lets users of a project return to further addresses after a login. For operators. @returns all that it has now. */
export const addReturnAddresses = async (
  ctx: ChangeCtx,
  { projectId, addresses }: Addresses,
): Promise<readonly string[]> => {
  if (!addresses.every(isReturnAddress)) {
    throw invalidInput(
      'Each return address must be a whole URL as browsers write it, like https://app.example.com/after, of at most 512 characters and without a fragment; http only for 127.0.0.1, [::1] and localhost.',
    )
  }
  const change = (before: readonly string[]): string[] => {
    const now = [...new Set([...before, ...addresses])]
    if (now.length <= RETURN_ADDRESSES_MAX) return now
    throw invalidInput(`A project can have ${RETURN_ADDRESSES_MAX} return addresses: nothing was changed.`)
  }
  return changeList(ctx, { projectId, list: 'returnAddresses', change })
}

/** The opposite. @throws invalid_input for an address that is not in the list. @returns those that are left. */
export const removeReturnAddresses = (
  ctx: ChangeCtx,
  { projectId, addresses }: Addresses,
): Promise<readonly string[]> =>
  changeList(ctx, { projectId, list: 'returnAddresses', change: (before) => without(before, addresses) })

/**
 * Sets the domain of a project's new passkeys (WebAuthn's RP ID); null: the host of the calling page. Passkeys of
 * another domain stay stored, but work only if that domain is set again. For operators.
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
        throw invalidInput(
          'The passkey domain must be the host of an allowed origin or a parent domain of it, in lower case, without a port, and not an IP address.',
        )
      }
      return { now: { passkeyRpId: rpId }, details: { domain: rpId ?? '', before: before.passkeyRpId ?? '' } }
    },
  })
