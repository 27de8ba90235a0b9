import type { HasDb } from '../../db/client.ts'
import type { HasChains } from '../chains/chains.ts'
import type { IdentityCtx } from '../identity/ctx.ts'
import type { HasSecurityEvents } from '../identity/security-events.ts'
import type { HasWorkerAudit } from '../platform/audit/audit.ts'
import type { HasClock } from '../platform/clock.ts'
import type { HasConfig } from '../platform/config.ts'
import type { HasMetrics } from '../platform/metrics/metrics.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { HasSealer } from '../platform/sealing/sealer.ts'
import type { HasTracer } from '../platform/tracing/tracer.ts'
import type { HasVault } from '../vault/contract/vault.ts'
import type { HasTransactionReader } from './transactions/broadcast.ts'
import type { HasObservationRecorder } from './transactions/record-observation.ts'
import type { HasSignerQueues } from './transactions/submit.ts'
import type { HasWallets } from './wallets/get.ts'

/** What those functions get that have the vault sign for a caller. */
export type SigningCtx = IdentityCtx &
  HasVault &
  HasWallets &
  HasSignerQueues &
  HasObservationRecorder &
  HasMetrics &
  HasTracer

/** What those functions get that send and follow what was signed. It has no vault and no identity key. */
export type TrackingCtx = HasConfig &
  HasDb &
  HasLog &
  HasClock &
  HasChains &
  HasSealer &
  HasWorkerAudit &
  HasSecurityEvents &
  HasObservationRecorder &
  HasTransactionReader &
  HasMetrics &
  HasTracer
