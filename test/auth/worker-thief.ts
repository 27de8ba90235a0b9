// service-key.test.ts runs this as a process of its own. It has only SERVICE_KEY, the worker's login and what anybody
// may know: the service's address, a project's id and somebody's session id. It prints the outcome of each attack.

import postgres from 'postgres'
import { createAccessTokens } from '../../src/identity/auth/access-token.ts'
import { refreshTokenOf } from '../../src/identity/users/session.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { createIdentityCtx } from '../../src/main/keyed-contexts.ts'
import { createApiAudit, createVaultAudit } from '../../src/platform/audit/audit.ts'
import { readConfig } from '../../src/platform/config.ts'
import { openSealer } from '../../src/platform/sealing/sealer.ts'

const { BASE_URL = '', PROJECT_ID: projectId = '', SESSION_ID: sessionId = '', USER_ID: userId = '' } = process.env
const config = readConfig()
const sql = postgres(config.databaseUrl.reveal(), { max: 1 })
const worker = await createWorkerCtx({ config, process: 'thief' })

/** The outcome of an attempt: 'done', or the code or first line of its failure. */
const tried = async (attempt: () => Promise<unknown>): Promise<string> => {
  try {
    await attempt()
    return 'done'
  } catch (error) {
    if (!(error instanceof Error)) return 'failed'
    const cause = 'cause' in error && error.cause instanceof Error ? error.cause : error
    return 'code' in cause ? String(cause.code) : cause.message
  }
}

const claims = {
  ...{ projectId, userId, sessionId, sessionExpiresAt: new Date(Date.now() + 86_400_000) },
  ...{ email: null, hasPasskeys: false, signInWallet: null },
}

/** The service key, used as each secret that an attacker might try. */
const sealers = await Promise.all(
  (['SERVICE_KEY', 'IDENTITY_KEY'] as const).map((name) => openSealer({ name, spec: config.serviceKey ?? '' })),
)

const refreshed = async (refreshToken: string): Promise<number> => {
  const response = await fetch(`${BASE_URL}/users/refresh-token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-walletkit-project-id': projectId },
    body: JSON.stringify({ session_id: sessionId, refresh_token: refreshToken }),
  })
  return response.status
}

const statements = {
  reads: [
    'select * from token_keys',
    'select public_key from token_keys',
    'select id from sessions',
    'select generation from sessions',
    'select code_mac from email_codes',
    'select code_hash from session_challenges',
    'select nonce from nonces',
    'select key from throttles',
    'select public_key from passkeys',
    'select hash from api_keys',
  ],
  writes: [
    `update token_keys set sealed = ''`,
    `insert into token_keys (id, public_key, sealed, signs_from) values ('mine', 'x', '', now())`,
    'delete from token_keys',
    `update sessions set ended_at = null`,
    `update sessions set generation = 1`,
    `update sessions set user_id = '${userId}'`,
    `insert into sessions select * from sessions`,
    `update session_challenges set user_id = '${userId}', completed_at = now()`,
    `update email_codes set tries = 0`,
    `update nonces set user_id = null`,
    `insert into passkeys select * from passkeys`,
    `update passkeys set user_id = '${userId}'`,
    `update users set email = 'thief@example.com'`,
    `update api_keys set revoked_at = null`,
    `update projects set allowed_origins = '{}'`,
    `update deployment set identity_key_id = ''`,
    // What says which bytes are signed, or what people read before they agree. Facts of contracts a worker may write:
    // no API signs by those that it did not read itself (test/nfts/forged-facts.test.ts).
    `update wallets set address = '0x'`,
    `insert into wallets select * from wallets`,
    `update collections set name = ''`,
    `insert into collections select * from collections`,
    `update abi_items set item = '{}'`,
    `insert into abi_items (abi_name, kind, selector, signature, item) values ('a', 'function', '0x00000000', 'f()', '{}')`,
    `update listed_tokens set name = ''`,
    `insert into listed_tokens select * from listed_tokens`,
    `update approvals set expires_at = now()`,
    `insert into approval_decisions select * from approval_decisions`,
    `update idempotency_keys set answer = '{}'`,
    `insert into audit_chain (chain, position, audit_id, head) values ('${projectId}', 1, 1, '')`,
    'delete from audit_chain',
  ],
}

const attempts = async (texts: readonly string[]) =>
  Promise.all(texts.map(async (text) => [text, await tried(async () => sql.unsafe(text))] as const))

const minted = await Promise.all(
  sealers.map((identity) => tried(() => createAccessTokens({ ...worker, identity }).issue(claims))),
)
const refreshes = await Promise.all(
  sealers.flatMap((identity) =>
    [1, 2, 3].map((generation) => refreshed(refreshTokenOf(identity, { id: sessionId, generation }))),
  ),
)
const bound = await tried(() =>
  createIdentityCtx({ config: { ...config, identityKey: config.serviceKey }, process: 'thief' }),
)

/** A signature that never was, under each key that can be made of what is known. */
const told = await Promise.all(
  sealers.map((deploymentKey, at) =>
    tried(() =>
      createVaultAudit({ db: worker.db, deploymentKey, now: worker.now }).commit({
        projectId: at === 0 ? projectId : null,
        actor: 'user:somebody',
        action: at === 0 ? 'transaction_signed' : 'root_key_rotated',
        subject: 'thief',
        details: {},
      }),
    ),
  ),
)

/** Acts of an operator and of an API, likewise, and one that says that a worker wrote it. */
const acted = await Promise.all(
  sealers.flatMap((identity) =>
    (['token_list_removed', 'api_key_created', 'session_revoked', 'access_token_forged'] as const).map((action) => {
      const audit = createApiAudit({ db: worker.db, identity, now: worker.now })
      return tried(() =>
        audit.commit({ projectId, actor: 'operator', action, subject: `thief ${action}`, details: {} }),
      )
    }),
  ),
)
const own = { projectId: null, actor: 'system', subject: 'Ethereum', details: {} } as const
const asWorker = await tried(() => worker.audit.commit({ ...own, action: 'final_blocks_lost' }))

process.stdout.write(
  JSON.stringify({
    environment: Object.keys(process.env).filter((name) => name.endsWith('_KEY')),
    reads: Object.fromEntries(await attempts(statements.reads)),
    writes: Object.fromEntries(await attempts(statements.writes)),
    minted,
    refreshes,
    bound,
    told,
    acted,
    asWorker,
  }),
)
process.exit(0)
