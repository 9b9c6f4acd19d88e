"""Continual counting: private running counts by trees and by factorised matrices, with their exact errors."""
