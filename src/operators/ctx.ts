import type { HasClose, HasDb } from '../../db/client.ts'
import type { HasChains } from '../chains/chains.ts'
import type { HasMailer } from '../identity/mail/mailer.ts'
import type { HasSecurityEvents } from '../identity/security-events.ts'
import type { HasAudit } from '../platform/audit/audit.ts'
import type { HasClock } from '../platform/clock.ts'
import type { HasConfig } from '../platform/config.ts'
import type { HasMetrics } from '../platform/metrics/metrics.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { HasIdentity, HasSealer } from '../platform/sealing/sealer.ts'
import type { HasTracer } from '../platform/tracing/tracer.ts'
import type { SigningCtx } from '../signing/ctx.ts'
import type { HasObservationRecorder } from '../signing/transactions/record-observation.ts'
import type { HasOperatorVault } from '../vault/contract/vault.ts'

/** What a command gets that only reads the database, and needs no key. */
export type ReadingCtx = HasConfig & HasDb & HasClock & HasClose

/** What a command gets that writes the audit, with the identity key. */
export type AuditingCtx = ReadingCtx & HasSealer & HasIdentity & HasAudit

/** What a command gets that asks nodes, and needs no key. */
export type AskingCtx = ReadingCtx & HasChains & HasLog & HasMetrics & HasTracer & HasMailer & HasObservationRecorder

export type OperatingCtx = AskingCtx & AuditingCtx & HasSecurityEvents

/** What a command gets that does what an API does, and asks more of the vault than an API may. */
export type OperatorCtx = SigningCtx & HasClose & HasOperatorVault
