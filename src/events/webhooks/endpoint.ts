// What decides where events go: an endpoint's URL, its types, and whom to write to. Its secrets are sealed with the
// service key for exactly these, as mails are for their recipient: an attacker who can only write to the database gets
// no events to a URL of their own.

import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { HasDb } from '../../../db/client.ts'
import type { EndpointFacts, EndpointRow } from '../../../db/queries/webhooks.ts'
import { reportForged } from '../../identity/auth/row-macs.ts'
import { requirePresentKeys } from '../../identity/retired-keys.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import type { Config } from '../../platform/config.ts'
import { refusalOfUrl } from '../../platform/process/outgoing.ts'
import type { HasSealer, Sealer } from '../../platform/sealing/sealer.ts'
import { invalidField } from '../../signing/schema.ts'

const PURPOSE = 'webhook secrets'

/** `until`: ISO 8601; null for the newest secret, which has no end. */
const Secrets = Type.Array(
  Type.Object(
    { secret: Type.String(), until: Type.Union([Type.String(), Type.Null()]) },
    { additionalProperties: false },
  ),
)

/** The newest first. */
export type Secrets = Static<typeof Secrets>

const rowIdOf = ({ id, projectId, url, contactEmail, eventTypes }: EndpointFacts): string =>
  [id, projectId, url, contactEmail ?? '', ...eventTypes].join('\n')

export const sealSecrets = (
  sealer: Pick<Sealer, 'seal'>,
  { secrets, ...facts }: EndpointFacts & { readonly secrets: Secrets },
): Uint8Array =>
  sealer.seal({ purpose: PURPOSE, rowId: rowIdOf(facts), plaintext: Buffer.from(JSON.stringify(secrets)) })

/** @returns null if the service did not write the endpoint. */
export const openSecrets = (
  sealer: Pick<Sealer, 'open' | 'requirePresent'>,
  row: EndpointFacts & { readonly sealed: Uint8Array },
): Secrets | null => {
  sealer.requirePresent()
  let opened: Uint8Array
  try {
    opened = sealer.open({ purpose: PURPOSE, rowId: rowIdOf(row), sealed: row.sealed })
  } catch {
    return null
  }
  return Value.Parse(Secrets, JSON.parse(Buffer.from(opened).toString()))
}

/** Opens the secrets, and reports an endpoint that the service did not write. */
export const openOurs = async (
  ctx: HasDb & HasSealer & HasSecurityEvents,
  row: EndpointRow,
): Promise<Secrets | null> => {
  const secrets = openSecrets(ctx.sealer, row)
  if (secrets !== null) return secrets
  // When the service key is changed, secrets are sealed anew: this process may have the earlier key and not know that
  // yet.
  await requirePresentKeys(ctx)
  reportForged(ctx, { table: 'webhook_endpoints', id: row.id, projectId: row.projectId })
  return null
}

export const validSecrets = (secrets: Secrets, at: Date): readonly string[] =>
  secrets.filter(({ until }) => until === null || new Date(until) > at).map(({ secret }) => secret)

const LENGTH_MAX = 2_048

/** Looks up no name: each request checks where the name leads. @returns normal form. @throws invalid_input */
export const readEndpointUrl = (config: Pick<Config, 'environment' | 'outgoingHosts'>, text: string): string => {
  const refusal = refusalOfUrl(config, text)
  if (refusal !== null) throw invalidField('url', `must be ${refusal}.`)
  const { href } = new URL(text)
  if (href.length > LENGTH_MAX) throw invalidField('url', `must be a URL of at most ${LENGTH_MAX} characters.`)
  return href
}
