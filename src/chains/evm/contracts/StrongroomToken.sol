// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";

/// Sends a token to several recipients in one call. Its ERC-165 id is the selector of the function.
interface IBatchTransfer {
    function batchTransfer(address[] calldata recipients, uint256[] calldata amounts) external;
}

/**
 * @title An ERC-20 token that its owner mints.
 * @notice Holders send it to several recipients in one transaction, without an approval: the token itself moves their balance.
 */
contract StrongroomToken is ERC20, ERC20Permit, Ownable, ERC165, IBatchTransfer {
    uint8 private immutable _decimals;

    /// @notice The two lists of a batch have different lengths.
    error BatchLengthMismatch(uint256 recipients, uint256 amounts);

    /// @param initialSupply in base units; `initialOwner` gets it.
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 initialSupply,
        address initialOwner
    ) ERC20(name_, symbol_) ERC20Permit(name_) Ownable(initialOwner) {
        _decimals = decimals_;
        if (initialSupply > 0) _mint(initialOwner, initialSupply);
    }

    /// @notice Creates `value` base units for `to`.
    function mint(address to, uint256 value) external onlyOwner {
        _mint(to, value);
    }

    /// @notice Sends `amounts[i]` base units of the caller to `recipients[i]`: all of them, or nothing.
    function batchTransfer(address[] calldata recipients, uint256[] calldata amounts) external {
        if (recipients.length != amounts.length) revert BatchLengthMismatch(recipients.length, amounts.length);
        for (uint256 i = 0; i < recipients.length; i++) _transfer(_msgSender(), recipients[i], amounts[i]);
    }

    /// @inheritdoc ERC20
    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    /// @inheritdoc ERC165
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IBatchTransfer).interfaceId || super.supportsInterface(interfaceId);
    }
}
