import type { HasDb } from '../../db/client.ts'
import type { HasChains } from '../chains/chains.ts'
import type { HasAudit } from '../platform/audit/audit.ts'
import type { HasClock } from '../platform/clock.ts'
import type { HasConfig } from '../platform/config.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { HasIdentity, HasSealer } from '../platform/sealing/sealer.ts'
import type { HasTokens } from './auth/access-token.ts'
import type { HasIssuers } from './issuers/admit.ts'
import type { HasMailer } from './mail/mailer.ts'
import type { HasSecurityEvents } from './security-events.ts'

/** What those functions get that know callers, and may change what they are allowed. */
export type IdentityCtx = HasConfig &
  HasDb &
  HasLog &
  HasClock &
  HasChains &
  HasSealer &
  HasIdentity &
  HasAudit &
  HasTokens &
  HasIssuers &
  HasMailer &
  HasSecurityEvents
