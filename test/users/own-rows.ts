// Rows that a test has edited by hand get the MAC that the service would have given them.

import type { ISql, Sql } from 'postgres'
import { projectMac, sessionMac, userMac } from '../../src/identity/auth/row-macs.ts'
import type { Service } from '../support/service.ts'

/** Sessions that have not ended. */
export const sealSessions = async ({ ctx }: Pick<Service, 'ctx'>, sql: ISql): Promise<void> => {
  const rows = await sql`
    select id, project_id as "projectId", user_id as "userId", authenticated_at as "authenticatedAt", generation,
      refreshed_at as "refreshedAt", expires_at as "expiresAt"
    from sessions where ended_at is null`
  const mac = sessionMac(ctx.identity)
  for (const row of rows) await sql`update sessions set mac = ${mac.of(row as never)} where id = ${row.id}`
}

export const sealUsers = async ({ ctx }: Pick<Service, 'ctx'>, sql: Sql): Promise<void> => {
  const rows = await sql`
    select id, project_id as "projectId", email, sign_in_wallet as "signInWallet", issuer, subject, tokens_from as "tokensFrom",
      kept_token as "keptToken"
    from users`
  const mac = userMac(ctx.identity)
  for (const row of rows) await sql`update users set mac = ${mac.of(row as never)} where id = ${row.id}`
}

export const sealProjects = async ({ ctx }: Pick<Service, 'ctx'>, sql: Sql): Promise<void> => {
  const rows = await sql`
    select id, allowed_origins as "allowedOrigins", return_addresses as "returnAddresses", passkey_rp_id as "passkeyRpId",
      anonymous_login as "anonymousLogin"
    from projects`
  const mac = projectMac(ctx.identity)
  for (const row of rows) await sql`update projects set mac = ${mac.of(row as never)} where id = ${row.id}`
}
