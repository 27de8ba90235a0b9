import type { HasClose, HasDb } from '../../db/client.ts'
import type { HasChains } from '../chains/chains.ts'
import type { HasConfig } from '../config.ts'
import type { HasAudit } from '../custody/audit.ts'
import type { HasOperatorVault } from '../custody/vault.ts'
import type { HasMailer } from '../mail/mailer.ts'
import type { HasMetrics } from '../metrics/metrics.ts'
import type { HasClock } from '../platform/clock.ts'
import type { HasIdentity, HasSealer } from '../platform/sealing/sealer.ts'
import type { HasSecurityEvents } from '../security/events.ts'
import type { HasLog } from '../security/log.ts'
import type { SigningCtx } from '../signing/ctx.ts'
import type { HasTracer } from '../tracing/tracer.ts'
import type { HasObservationRecorder } from '../transactions/record-observation.ts'

/** What a command gets that only reads the database, and needs no key. */
export type ReadingCtx = HasConfig & HasDb & HasClock & HasClose

/** What a command gets that writes the audit, with the identity key. */
export type AuditingCtx = ReadingCtx & HasSealer & HasIdentity & HasAudit

/** What a command gets that asks nodes, and needs no key. */
export type AskingCtx = ReadingCtx & HasChains & HasLog & HasMetrics & HasTracer & HasMailer & HasObservationRecorder

/** What an action of the console gets. */
export type OperatingCtx = AskingCtx & AuditingCtx & HasSecurityEvents

/** What a command gets that does what an API does, and asks more of the vault than an API may. */
export type OperatorCtx = SigningCtx & HasClose & HasOperatorVault
