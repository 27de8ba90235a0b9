// End users, their logins and their sessions. No row holds a usable code or token.

import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf } from '../tables.ts'
import {
  CHALLENGE_WAYS,
  CHANGED_SECRETS,
  EMAIL_CODE_PURPOSES,
  LOGIN_WAYS,
  NONCE_KINDS,
  SESSION_ENDS,
} from '../words.ts'
import { projectId } from './projects.ts'

/**
 * Users who are not told yet that what opens their wallets was changed. The vault commits the change in another
 * transaction: a row that is left shows that an API died in between.
 */
export const secretChanges = pgTable(
  'secret_changes',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: projectId(),
    userId: uuid('user_id').notNull(),
    secret: text('secret', { enum: CHANGED_SECRETS }).notNull(),
    actor: text('actor').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    check('secret_changes_secret', oneOf('secret', CHANGED_SECRETS)),
    index('secret_changes_age').on(table.createdAt),
  ],
)

export const secretChangesAccess = access(secretChanges, { api: 'select, insert, update, delete' })

/** An end user of a project. One who logged in anonymously has neither an e-mail address nor a wallet. */
export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    /** Proven, in lower case. */
    email: text('email'),
    /**
     * Proven; in the form of src/identity/users/wallet-login.ts: an address, or a contract's address with its chain.
     */
    signInWallet: text('sign_in_wallet'),
    /** Whose token named the user: the claim `iss`. */
    issuer: text('issuer'),
    /** How the issuer names the user: the claim's name and its value, such as `sub:1234`. */
    subject: text('subject'),
    /** Tokens of the issuer that it made before count no more; null: they all count. */
    tokensFrom: instant('tokens_from'),
    /** SHA-256 of the one token from before that still counts; null: none does. */
    keptToken: bytes('kept_token'),
    createdAt: instant('created_at').notNull().default(now),
    /** The row's MAC, by src/identity/auth/row-macs.ts. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    unique('users_email').on(table.projectId, table.email),
    unique('users_sign_in_wallet').on(table.projectId, table.signInWallet),
    unique('users_subject').on(table.projectId, table.issuer, table.subject),
    check('users_subject_issuer', sql`(issuer is null) = (subject is null)`),
    check('users_tokens_from', sql`tokens_from is null or issuer is not null`),
    check('users_kept_token', sql`kept_token is null or (tokens_from is not null and length(kept_token) = 32)`),
    unique('users_project').on(table.projectId, table.id),
    index('users_unproven').on(table.createdAt).where(sql`email is null and sign_in_wallet is null and issuer is null`),
  ],
)

export const usersAccess = access(users, {
  api: 'select, insert, update',
  worker: 'select, delete',
  console: 'select (id, project_id, email, sign_in_wallet, issuer, subject, created_at)',
})

const ofUser = (table: { readonly projectId: AnyPgColumn; readonly userId: AnyPgColumn }) =>
  foreignKey({ columns: [table.projectId, table.userId], foreignColumns: [users.projectId, users.id] })

/** WebAuthn credentials (its section 4, "credential record"). */
export const passkeys = pgTable(
  'passkeys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    projectId: uuid('project_id').notNull(),
    userId: uuid('user_id').notNull(),
    credentialId: bytes('credential_id').notNull(),
    /** COSE_Key. */
    publicKey: bytes('public_key').notNull(),
    rpId: text('rp_id').notNull(),
    signCount: bigint('sign_count', { mode: 'number' }).notNull(),
    transports: text('transports').array().notNull(),
    aaguid: uuid('aaguid').notNull(),
    backupEligible: boolean('backup_eligible').notNull(),
    backedUp: boolean('backed_up').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    lastUsedAt: instant('last_used_at'),
    /** The row's MAC, by src/identity/auth/row-macs.ts. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    unique('passkeys_credential').on(table.projectId, table.credentialId),
    index('passkeys_user').on(table.projectId, table.userId),
    ofUser(table),
  ],
)

export const passkeysAccess = access(passkeys, {
  api: 'select, insert, update, delete',
  worker: 'select (project_id, user_id)',
  console: 'select (project_id, user_id)',
})

/** The MAC of the one live code that was mailed for a user. The user may not exist yet. */
export const emailCodes = pgTable(
  'email_codes',
  {
    projectId: projectId(),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose', { enum: EMAIL_CODE_PURPOSES }).notNull(),
    email: text('email').notNull(),
    codeMac: bytes('code_mac').notNull(),
    tries: smallint('tries').notNull().default(0),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.userId, table.purpose] }),
    index('email_codes_expiry').on(table.expiresAt),
    check('email_codes_purpose', oneOf('purpose', EMAIL_CODE_PURPOSES)),
  ],
)
// Of logins the worker may delete only those that are over, and read none: with a code's MAC, a session's id or the
// secret of a link it could try to log in as a user.

export const emailCodesAccess = access(emailCodes, {
  api: 'select, insert, update, delete',
  workerDeletes: 'expires_at < now()',
})

/** Nonces of logins: each must come back signed, once, and its row is then deleted. */
export const nonces = pgTable(
  'nonces',
  {
    projectId: projectId(),
    kind: text('kind', { enum: NONCE_KINDS }).notNull(),
    nonce: text('nonce').notNull(),
    /** The user who must answer; null: any user. */
    userId: uuid('user_id'),
    /** The wallet that must sign, the RP ID, or a login that goes on at an issuer. */
    target: text('target').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
    /** The row's MAC, by src/identity/auth/row-macs.ts. Without one it proves nothing. */
    mac: bytes('mac'),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.kind, table.nonce] }),
    index('nonces_expiry').on(table.expiresAt),
    check('nonces_kind', oneOf('kind', NONCE_KINDS)),
  ],
)

export const noncesAccess = access(nonces, {
  api: 'select, insert, update, delete',
  workerDeletes: 'expires_at < now()',
})

/** A login that begins on one device and is completed on another, behind a mailed link, or at an issuer. */
export const sessionChallenges = pgTable(
  'session_challenges',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    /** How it is completed. */
    way: text('way', { enum: CHALLENGE_WAYS }).notNull(),
    codeHash: bytes('code_hash').notNull(),
    /** The hash of the mailed link's secret; null if a logged-in device completes the login. */
    linkHash: bytes('link_hash'),
    /** The hash of the secret that the first device keeps to itself; null if it has none apart from the code. */
    verifierHash: bytes('verifier_hash'),
    email: text('email'),
    /** Who is logged in: for a mailed link known from the start, otherwise set when it is completed. */
    userId: uuid('user_id'),
    askerAddress: text('asker_address').notNull(),
    askerDevice: text('asker_device').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    expiresAt: instant('expires_at').notNull(),
    completedAt: instant('completed_at'),
    /** When the user who completed it last proved who they are; the new session gets this time. */
    authenticatedAt: instant('authenticated_at'),
    /** When the first device got its session; only once. */
    usedAt: instant('used_at'),
    /** The row's MAC, by src/identity/auth/row-macs.ts; null once it was used, or ended with its user's sessions. */
    mac: bytes('mac'),
  },
  (table) => [
    unique('session_challenges_code').on(table.codeHash),
    unique('session_challenges_link').on(table.linkHash),
    index('session_challenges_expiry').on(table.expiresAt),
    check('session_challenges_way', oneOf('way', CHALLENGE_WAYS)),
    check('session_challenges_mailed', sql`(way = 'magic_link') = (link_hash is not null)`),
    check('session_challenges_link_email', sql`(link_hash is null) = (email is null)`),
    check('session_challenges_completed', sql`completed_at is null or user_id is not null`),
    check('session_challenges_authenticated', sql`(completed_at is null) = (authenticated_at is null)`),
    check('session_challenges_used', sql`used_at is null or completed_at is not null`),
  ],
)

export const sessionChallengesAccess = access(sessionChallenges, {
  api: 'select, insert, update, delete',
  /** Clients may ask for a while how a challenge ended. */
  workerDeletes: "expires_at < now() - interval '1 hour'",
})

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    userId: uuid('user_id').notNull(),
    way: text('way', { enum: LOGIN_WAYS }).notNull(),
    askerAddress: text('asker_address').notNull(),
    askerDevice: text('asker_device').notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** When its user last proved who they are. A refresh proves nothing, nor does a login through another device. */
    authenticatedAt: instant('authenticated_at').notNull().default(now),
    /** The number of the current refresh token; the token is derived from it and the identity key. */
    generation: integer('generation').notNull().default(1),
    refreshedAt: instant('refreshed_at').notNull().default(now),
    /** When the current refresh token expires, and with it the session. */
    expiresAt: instant('expires_at').notNull(),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by', { enum: SESSION_ENDS }),
    /** The row's MAC, by src/identity/auth/row-macs.ts; null once the session has ended. */
    mac: bytes('mac'),
  },
  (table) => [
    index('sessions_user').on(table.projectId, table.userId, table.createdAt),
    index('sessions_expiry').on(table.expiresAt),
    ofUser(table),
    check('sessions_way', oneOf('way', LOGIN_WAYS)),
    check('sessions_ended', sql`(ended_at is null) = (ended_by is null)`),
    check('sessions_ended_by', oneOf('ended_by', SESSION_ENDS)),
  ],
)

export const sessionsAccess = access(sessions, {
  api: 'select, insert, update, delete',
  worker: 'select (project_id, user_id)',
  /** Ended sessions are kept for a while, for investigations. */
  workerDeletes: "expires_at < now() - interval '90 days'",
})

/** The Ed25519 keys that sign access tokens, sealed with the identity key. The worker may not read them. */
export const tokenKeys = pgTable('token_keys', {
  /** The JWK thumbprint (RFC 7638): `kid`. */
  id: text('id').primaryKey(),
  /** JWK's `x`. */
  publicKey: text('public_key').notNull(),
  sealed: bytes('sealed').notNull(),
  createdAt: instant('created_at').notNull().default(now),
  /** Later than its publication, so that caches of the published keys have it by then. */
  signsFrom: instant('signs_from').notNull(),
  /** When the last token that it signed has expired; null for the newest. */
  publishedUntil: instant('published_until'),
})

export const tokenKeysAccess = access(tokenKeys, { api: 'select, insert, update, delete' })

/** Numbers of tries in windows of time. The keys are MACs, so that no address can be read here. */
export const throttles = pgTable(
  'throttles',
  {
    key: bytes('key').primaryKey(),
    tries: integer('tries').notNull(),
    windowEndsAt: instant('window_ends_at').notNull(),
  },
  (table) => [index('throttles_window').on(table.windowEndsAt)],
)

export const throttlesAccess = access(throttles, {
  api: 'select, insert, update, delete',
  vault: 'select, insert, update',
  console: 'select, insert, update',
  workerDeletes: 'window_ends_at < now()',
})

/** Mails on their way. The text is sealed with the service key, and erased when it was sent or is too late. */
export const mails = pgTable(
  'mails',
  {
    id: uuid('id').primaryKey(),
    projectId: projectId(),
    recipient: text('recipient').notNull(),
    subject: text('subject').notNull(),
    sealed: bytes('sealed'),
    createdAt: instant('created_at').notNull().default(now),
    /** Later than this it is not sent any more. */
    expiresAt: instant('expires_at').notNull(),
    sentAt: instant('sent_at'),
    failure: text('failure'),
  },
  (table) => [index('mails_age').on(table.createdAt)],
)

export const mailsAccess = access(mails, { api: 'select, insert', worker: 'select, insert, update, delete' })
