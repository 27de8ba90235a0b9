// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/**
 * @title Sends coins to several recipients, all or nothing, while it is created. It leaves no code behind.
 * @notice The amounts together must be the coins sent along. The transaction carries the whole code, so nothing that others deployed is trusted, and nobody can call it later.
 */
contract CoinBatch {
    /// @notice The recipient did not accept the coins.
    error CoinsRefused(address recipient);

    constructor(address[] memory recipients, uint256[] memory amounts) payable {
        for (uint256 i = 0; i < recipients.length; i++) {
            (bool isAccepted, ) = recipients[i].call{value: amounts[i]}("");
            if (!isAccepted) revert CoinsRefused(recipients[i]);
        }
        assembly {
            return(0, 0)
        }
    }
}
