import { AppError } from '../../platform/errors.ts'

/** The root key was changed, and this vault has only the old one. Nothing was done; a vault with the present key can do it. */
export class UnfitVault extends AppError {
  constructor() {
    super('unavailable', 'The root key was changed: the vault must be restarted with the present one as ROOT_KEY.', {
      retryAfterSeconds: 30,
    })
    this.name = 'UnfitVault'
  }
}
