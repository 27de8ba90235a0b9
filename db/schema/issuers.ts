// Identity providers of projects: who signs the tokens of users whom a project has already.

import { sql } from 'drizzle-orm'
import { check, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now } from '../tables.ts'
import { projectId } from './projects.ts'

export const issuers = pgTable(
  'issuers',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    /** What callers send in `X-WalletKit-Token-Source`. */
    name: text('name').notNull(),
    /** The claim `iss`, exactly. The signing keys are found from it by OpenID Connect Discovery. */
    issuer: text('issuer').notNull(),
    /** What the claim `aud` must be, or contain; or what the claim in its place must be. */
    audience: text('audience').notNull(),
    /** `aud`, or the claim that is checked in its place, such as `azp` or `client_id`. */
    audienceClaim: text('audience_claim').notNull(),
    /** The claim that names the user. */
    userClaim: text('user_claim').notNull(),
    /** Signature algorithms (JWA), all of them asymmetric. */
    algorithms: text('algorithms').array().notNull(),
    /** Under which name the issuer knows our login page; null if it does not offer this issuer. */
    clientId: text('client_id'),
    /** The client's secret, sealed with the identity key; null for a client that has none. */
    sealedSecret: bytes('sealed_secret'),
    createdAt: instant('created_at').notNull().default(now),
    /** The row's MAC, by src/identity/auth/row-macs.ts. Without one it admits no caller. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    unique('issuers_name').on(table.projectId, table.name),
    check('issuers_algorithms', sql`cardinality(${table.algorithms}) > 0`),
    check('issuers_secret', sql`sealed_secret is null or client_id is not null`),
  ],
)

export const issuersAccess = access(issuers, {
  api: 'select, insert, delete',
  console: 'select (project_id, name, issuer)',
})
